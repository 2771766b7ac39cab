//! Protocols between nodes, as options name them.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use fathomp_launch::Protocol;

/// The protocols of distributed shared memory, as an option's values.
pub fn protocols() -> impl TypedValueParser<Value = Protocol> {
    let described = |protocol: &Protocol| {
        PossibleValue::new(protocol.name()).help(match protocol {
            Protocol::Home => "Every page has a home, to which nodes send what they changed",
            Protocol::Homeless => {
                "Nodes that wrote a page hold their changes until another node asks for them"
            }
        })
    };
    let names = PossibleValuesParser::new(Protocol::ALL.iter().map(described));
    names.try_map(|name| Protocol::of_name(&name).ok_or("it is no protocol"))
}
