//! The macro behind the registry of agents.

/// Makes the enum of all agents' parameters, and the functions that look them up.
macro_rules! agents {
    ($($variant:ident = $module:ident :: $ty:ident),+ $(,)?) => {
        /// Parameters of one agent, which make it at the ports of a switch.
        #[derive(Clone, PartialEq, Debug)]
        #[allow(missing_docs)]
        pub enum AgentParams { $($variant(<$module::$ty as SwitchAgent>::Params)),+ }

        /// Every agent with its parameters at their defaults, in registry order.
        fn prototypes() -> Vec<AgentParams> {
            vec![$(AgentParams::$variant(Default::default())),+]
        }

        impl AgentParams {
            /// The agent's description; the parameters' defaults are their present values.
            pub fn info(&self) -> AgentInfo {
                let mut info = match self {
                    $(AgentParams::$variant(_) => AgentInfo {
                        name: $module::$ty::NAME,
                        summary: $module::$ty::SUMMARY,
                        source: $module::$ty::SOURCE,
                        params: <<$module::$ty as SwitchAgent>::Params as Params>::specs(),
                    },)+
                };
                for spec in &mut info.params {
                    spec.default = self.get(&spec.name).flatten();
                }
                info
            }
            /// Sets a parameter by name; nothing changes on error.
            pub fn set(&mut self, name: &str, value: &Value) -> Result<(), ParamError> {
                match self { $(AgentParams::$variant(p) => p.set(name, value)),+ }
            }
            /// A parameter by name: `None` for an unknown name, `Some(None)` for one that is not set.
            pub fn get(&self, name: &str) -> Option<Option<Value>> {
                match self { $(AgentParams::$variant(p) => p.get(name)),+ }
            }
            /// The agents of one switch, in the order of these ports.
            pub fn install(&self, ports: &[PortInfo]) -> Vec<Option<AnyPort>> {
                match self {
                    $(AgentParams::$variant(p) => {
                        let agents = $module::$ty::install(p, ports).into_iter();
                        agents.map(|agent| agent.map(|agent| AnyPort::Dyn(Box::new(agent)))).collect()
                    })+
                }
            }
        }
    };
}
