//! The macro behind the registry of choosers: static dispatch to each.

/// Makes the enums that dispatch to the choosers, and the functions that look them up.
macro_rules! choosers {
    ($($variant:ident = $module:ident :: $ty:ident),+ $(,)?) => {
        /// Parameters of one chooser, which make it.
        #[derive(Clone, PartialEq, Debug)]
        #[allow(missing_docs)]
        pub enum ChooserParams { $($variant(<$module::$ty as Chooser>::Params)),+ }

        /// The state of any chooser.
        #[allow(missing_docs)]
        pub enum AnyChooser { $($variant(<$module::$ty as Chooser>::State)),+ }

        const _: () = assert!(size_of::<AnyChooser>() <= MAX_CHOOSER_BYTES, "a chooser is too large: box its rarely used part");

        /// Every chooser with its parameters at their defaults, in registry order.
        fn prototypes() -> Vec<ChooserParams> {
            vec![$(ChooserParams::$variant(Default::default())),+]
        }

        impl ChooserParams {
            /// The chooser's description; the parameters' defaults are their present values.
            pub fn info(&self) -> ChooserInfo {
                let mut info = match self {
                    $(ChooserParams::$variant(_) => ChooserInfo {
                        name: $module::$ty::NAME,
                        summary: $module::$ty::SUMMARY,
                        source: $module::$ty::SOURCE,
                        params: <<$module::$ty as Chooser>::Params as Params>::specs(),
                    },)+
                };
                for spec in &mut info.params {
                    spec.default = self.get(&spec.name).flatten();
                }
                info
            }
            /// Sets a parameter by name; nothing changes on error.
            pub fn set(&mut self, name: &str, value: &Value) -> Result<(), ParamError> {
                match self { $(ChooserParams::$variant(p) => p.set(name, value)),+ }
            }
            /// A parameter by name: `None` for an unknown name, `Some(None)` for one that is not set.
            pub fn get(&self, name: &str) -> Option<Option<Value>> {
                match self { $(ChooserParams::$variant(p) => p.get(name)),+ }
            }
            /// The chooser of a flow that starts now; `random` is the stream of the flow's host.
            pub fn start(&self, info: &PathInfo, random: &mut RandomStream) -> AnyChooser {
                match self { $(ChooserParams::$variant(p) => AnyChooser::$variant($module::$ty::start(p, info, random))),+ }
            }
        }

        impl PathChooser for AnyChooser {
            #[inline]
            fn next(&mut self, ctx: &mut PathCtx<'_>) -> Entropy {
                match self { $(AnyChooser::$variant(c) => c.next(ctx)),+ }
            }
            #[inline]
            fn feedback(&mut self, ctx: &mut PathCtx<'_>, entropy: Entropy, feedback: PathFeedback) {
                match self { $(AnyChooser::$variant(c) => c.feedback(ctx, entropy, feedback)),+ }
            }
        }
    };
}
