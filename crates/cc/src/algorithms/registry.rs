//! The macro behind the registry: static dispatch to every built-in algorithm, and one trait object for those from elsewhere.

/// Methods of an enum over all algorithms that call those of the same name of the algorithm's half.
macro_rules! forward {
    ($any:ident $variants:tt $($(#[$attribute:meta])* fn $method:ident $parameters:tt $(-> $result:ty)?;)+) => {
        $(forward!(@method $any $variants [$(#[$attribute])*] $method $parameters [$(-> $result)?]);)+
    };
    (@method $any:ident $variants:tt [$($attribute:tt)*] $method:ident (&$self:ident $(, $name:ident: $kind:ty)*) [$($result:tt)*]) => {
        $($attribute)*
        fn $method(&$self $(, $name: $kind)*) $($result)* {
            forward!(@call $any $variants $self $method ($($name),*))
        }
    };
    (@method $any:ident $variants:tt [$($attribute:tt)*] $method:ident (&mut $self:ident $(, $name:ident: $kind:ty)*) [$($result:tt)*]) => {
        $($attribute)*
        fn $method(&mut $self $(, $name: $kind)*) $($result)* {
            forward!(@call $any $variants $self $method ($($name),*))
        }
    };
    (@call $any:ident [$($variant:ident)+] $self:ident $method:ident $arguments:tt) => {
        match $self {
            $($any::$variant(half) => half.$method $arguments,)+
            $any::Dyn(half) => half.$method $arguments,
        }
    };
}

/// Makes the enums that dispatch to the algorithms, and the functions that look them up.
macro_rules! registry {
    ($($variant:ident = $module:ident :: $ty:ident),+ $(,)?) => {
        /// Parameters of one algorithm, built in or from elsewhere; they make its halves.
        #[derive(Clone, Debug)]
        #[allow(missing_docs)]
        pub enum AnyParams { $($variant(<$module::$ty as Algorithm>::Params),)+ Dyn(Box<dyn DynAlgorithm>) }

        /// The sender half of any algorithm, built in or from elsewhere.
        #[allow(missing_docs, clippy::large_enum_variant)]
        pub enum AnySender { $($variant(<$module::$ty as Algorithm>::Sender),)+ Dyn(Box<dyn Sender>) }

        /// The receiver half of any algorithm, built in or from elsewhere.
        #[allow(missing_docs)]
        pub enum AnyReceiver { $($variant(<$module::$ty as Algorithm>::Receiver),)+ Dyn(Box<dyn Receiver>) }

        /// The port half of any algorithm, built in or from elsewhere.
        #[allow(missing_docs)]
        pub enum AnyPort { $($variant(<$module::$ty as Algorithm>::Port),)+ Dyn(Box<dyn PortAgent>) }

        const _: () = assert!(size_of::<AnySender>() <= MAX_SENDER_BYTES, "a sender is too large: box its rarely used part");

        /// Every built-in algorithm with its parameters at their defaults, in registry order.
        pub(crate) fn prototypes() -> Vec<AnyParams> {
            vec![$(AnyParams::$variant(Default::default())),+]
        }

        impl AnyParams {
            /// The algorithm's description.
            pub fn describe(&self) -> About {
                match self { $(AnyParams::$variant(_) => About::for_algorithm::<$module::$ty>(),)+ AnyParams::Dyn(p) => p.describe() }
            }
            /// Its parameters in the order in which they are listed.
            pub fn specs(&self) -> Vec<ParamSpec> {
                match self {
                    $(AnyParams::$variant(_) => <<$module::$ty as Algorithm>::Params as Params>::specs(),)+
                    AnyParams::Dyn(p) => p.specs(),
                }
            }
            /// The features that the algorithm needs of the network.
            pub fn needs(&self) -> Needs {
                match self { $(AnyParams::$variant(p) => $module::$ty::needs(p),)+ AnyParams::Dyn(p) => p.needs() }
            }
            /// Returns true if its senders act on a congestion notification packet that a switch sends.
            pub fn hears_cnp(&self) -> bool {
                match self { $(AnyParams::$variant(p) => $module::$ty::hears_cnp(p),)+ AnyParams::Dyn(p) => p.hears_cnp() }
            }
            /// Sets a parameter by name.
            pub fn set(&mut self, name: &str, value: &Value) -> Result<(), ParamError> {
                match self { $(AnyParams::$variant(p) => p.set(name, value),)+ AnyParams::Dyn(p) => p.set(name, value) }
            }
            /// A parameter by name, as [`Params::get`].
            pub fn get(&self, name: &str) -> Option<Option<Value>> {
                match self { $(AnyParams::$variant(p) => p.get(name),)+ AnyParams::Dyn(p) => p.get(name) }
            }
            /// A sender for a flow that starts now.
            pub fn sender(&self, flow: &FlowInfo) -> AnySender {
                match self {
                    $(AnyParams::$variant(p) => AnySender::$variant($module::$ty::sender(p, flow)),)+
                    AnyParams::Dyn(p) => AnySender::Dyn(p.sender(flow)),
                }
            }
            /// The receiver of a flow.
            pub fn receiver(&self, flow: &FlowInfo) -> AnyReceiver {
                match self {
                    $(AnyParams::$variant(p) => AnyReceiver::$variant($module::$ty::receiver(p, flow)),)+
                    AnyParams::Dyn(p) => AnyReceiver::Dyn(p.receiver(flow)),
                }
            }
            /// The agent for a switch port, if the algorithm has one.
            pub fn port(&self, port: &PortInfo) -> Option<AnyPort> {
                match self {
                    $(AnyParams::$variant(p) => $module::$ty::port(p, port).map(AnyPort::$variant),)+
                    AnyParams::Dyn(p) => p.port(port).map(AnyPort::Dyn),
                }
            }
        }

        impl AnyParams {
            /// The half of a receiving host that grants credit, if the algorithm has one.
            pub fn granter(&self, host: &HostInfo) -> Option<Box<dyn Granter>> {
                match self { $(AnyParams::$variant(p) => $module::$ty::granter(p, host),)+ AnyParams::Dyn(p) => p.granter(host) }
            }
        }

        /// Equal are those of the same name with the same values.
        impl PartialEq for AnyParams {
            fn eq(&self, other: &AnyParams) -> bool {
                let values = |p: &AnyParams| p.specs().into_iter().map(|s| p.get(&s.name)).collect::<Vec<_>>();
                self.describe().name == other.describe().name && values(self) == values(other)
            }
        }

        impl Sender for AnySender {
            forward! {
                AnySender [$($variant)+]
                #[inline] fn control(&self) -> Control;
                fn ssthresh(&self) -> Option<Bytes>;
                fn on_established(&mut self, rtt: farloop_units::Delta);
                fn on_start(&mut self, ctx: &mut Ctx<'_>);
                fn fields(&mut self, ctx: &mut Ctx<'_>, sent: &Sent) -> Fields;
                #[inline] fn on_send(&mut self, ctx: &mut Ctx<'_>, sent: &Sent);
                fn wants_on_send(&self) -> bool;
                #[inline] fn on_ack(&mut self, ctx: &mut Ctx<'_>, ack: &Ack<'_>);
                fn on_loss(&mut self, ctx: &mut Ctx<'_>, loss: &Loss);
                fn on_packet_loss(&mut self, ctx: &mut Ctx<'_>, loss: &PacketLoss);
                fn on_idle_restart(&mut self, ctx: &mut Ctx<'_>, idle: farloop_units::Delta, rto: farloop_units::Delta);
                fn on_signal(&mut self, ctx: &mut Ctx<'_>, signal: &Signal);
                fn on_credit(&mut self, ctx: &mut Ctx<'_>, total: Bytes);
                fn credit_demand(&mut self, backlog: Bytes) -> Bytes;
                fn on_receiver_penalty(&mut self, penalty: u8);
                fn on_telemetry(&mut self, ctx: &mut Ctx<'_>, int: &[IntRecord]);
                fn on_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId);
            }
        }

        impl AnyReceiver {
            /// Returns true if it is an [`EchoReceiver`]: the endpoint need not call it to know what an ACK carries.
            pub fn only_echoes(&self) -> bool {
                use std::any::TypeId;
                match self {
                    $(AnyReceiver::$variant(_) => {
                        TypeId::of::<<$module::$ty as Algorithm>::Receiver>() == TypeId::of::<EchoReceiver>()
                    })+
                    AnyReceiver::Dyn(_) => false,
                }
            }
        }

        impl Receiver for AnyReceiver {
            forward! {
                AnyReceiver [$($variant)+]
                #[inline] fn on_data(&mut self, ctx: &mut Ctx<'_>, data: &Data<'_>) -> Feedback;
                fn fields(&mut self, data: &Data<'_>) -> Fields;
                fn on_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId);
            }
        }

        impl PortAgent for AnyPort {
            forward! {
                AnyPort [$($variant)+]
                fn flow_queues(&self) -> bool;
                fn initial_rate(&mut self, flow: u32) -> Rate;
                fn on_enqueue(&mut self, ctx: &mut Ctx<'_>, head: &mut Head, queue: Bytes) -> Admit;
                fn on_dequeue(&mut self, ctx: &mut Ctx<'_>, head: &mut Head, queue: Bytes);
                fn on_reverse(&mut self, ctx: &mut Ctx<'_>, head: &mut Head, queue: Bytes);
                fn on_pause(&mut self, ctx: &mut Ctx<'_>, paused: bool, queue: Bytes);
                fn on_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId, queue: Bytes);
            }
        }
    };
}
