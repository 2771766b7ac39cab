//! Runs on hosts whose networks are apart: each host is a network name space, joined to the
//! other by a pair of virtual interfaces. That needs root, and `ip` of iproute2.

use crate::roles::RUN_FAILED;
use crate::setting::Setting;
use fathomp_requirements::{Forbidden, if_permitted};
use libtest_mimic::Trial;
use std::process::Command;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        if_permitted(
            "hosts_with_networks_of_their_own_are_connected",
            hosts_with_networks_of_their_own_are_connected,
        ),
        if_permitted("a_link_that_is_down_is_named", a_link_that_is_down_is_named),
    ]
}

/// Two name spaces, gone when this is dropped.
struct Network {
    names: [String; 2],
    setting: Setting,
}

fn ip(words: &str) -> Result<(), String> {
    let done = Command::new("ip").args(words.split(' ')).output();
    match done {
        Ok(done) if done.status.success() => Ok(()),
        Ok(done) => Err(String::from_utf8_lossy(&done.stderr).trim().to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

impl Network {
    /// Hosts with the addresses 10.78.0.1 and 10.78.0.2.
    fn new(of: &str) -> Result<Self, Forbidden> {
        let id = std::process::id();
        let [a, b] = ["a", "b"].map(|end| format!("fathomp-{of}-{id}-{end}"));
        let network = Self {
            names: [a.clone(), b.clone()],
            setting: Setting::new(),
        };
        let steps = [
            format!("netns add {a}"),
            format!("netns add {b}"),
            format!("-n {a} link add eth0 type veth peer name eth0 netns {b}"),
            format!("-n {a} addr add 10.78.0.1/24 dev eth0"),
            format!("-n {b} addr add 10.78.0.2/24 dev eth0"),
            format!("-n {a} link set eth0 up"),
            format!("-n {b} link set eth0 up"),
        ];
        for step in steps {
            if let Err(why) = ip(&step) {
                return Forbidden::because(format!(
                    "network name spaces cannot be made here (`ip {step}`: {why}): run it as root, with iproute2"
                ));
            }
        }
        Ok(network)
    }

    /// The option by which agents are started there.
    fn ssh(&self) -> String {
        let [a, b] = &self.names;
        let script = self.setting.script(
            "ssh",
            &format!(
                "#!/bin/sh\ncase $1 in *1|first*) on={a};; *) on={b};; esac\nshift\nexec ip netns exec $on sh -c \"exec $*\"\n"
            ),
        );
        format!("ssh={script}")
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = ip(&format!("netns del {name}"));
        }
    }
}

fn hosts_with_networks_of_their_own_are_connected() -> Result<(), Forbidden> {
    let network = Network::new("up")?;
    // By the addresses of which the user knows, and by names that nobody there knows.
    for hosts in ["10.78.0.1,10.78.0.2:2", "first.invalid,second.invalid:2"] {
        for options in [&[&network.ssh()[..]][..], &[&network.ssh(), "secure=1"]] {
            let left = network.setting.run(hosts, options, "meet exchange");
            left.well();
            assert_eq!(left.lines().len(), 2, "{left:?}");
        }
    }
    Ok(())
}

fn a_link_that_is_down_is_named() -> Result<(), Forbidden> {
    let network = Network::new("down")?;
    ip(&format!("-n {} link set eth0 down", network.names[1])).unwrap();
    let left = network
        .setting
        .run("10.78.0.1,10.78.0.2", &[&network.ssh()], "meet exchange");
    left.failed(
        RUN_FAILED,
        &[
            "host 10.78.0.1: its agent cannot connect to that of 10.78.0.2 at port",
            "--ports",
        ],
    );
    Ok(())
}
