//! Nodes as columns of `fathomp bench`: a runtime on which each of so many nodes has one thread.

use crate::args::cluster::{Cluster, Net};
use crate::args::{Bench, ThreadList};
use crate::failure::{Failure, exit};
use crate::hosts::Across;
use fathomp_bench::runtime::{OnNodes, Runtime};
use fathomp_bench::settings::Settings;
use fathomp_launch::Protocol;
use fathomp_runtime::Unpacked;

/// What was asked for of nodes.
pub(in crate::commands) struct BenchNodes<'a> {
    plan: &'a Bench,
    across: Option<Across>,
}

impl<'a> BenchNodes<'a> {
    /// What this plan asks for.
    pub(in crate::commands) fn of(plan: &'a Bench) -> Result<Self, Failure> {
        Ok(Self {
            plan,
            across: Across::of(&plan.nodes.on)?,
        })
    }

    /// The numbers of nodes; none if they are those of threads.
    pub(in crate::commands) fn counts(&self) -> Result<Option<ThreadList>, Failure> {
        let named = self.plan.nodes.nodes.as_ref();
        let named = named.or(self.plan.threads.as_ref()).cloned();
        let Some(across) = &self.across else {
            return Ok(named);
        };
        let list = named.unwrap_or_else(|| ThreadList::doubling(across.nodes().into()));
        if let Some(largest) = list.0.last() {
            across.check(*largest)?;
        }
        Ok(Some(list))
    }

    /// The runtime that is meant if anything is said that only nodes know, and none is named.
    pub(in crate::commands) fn usual_name(&self) -> Option<&'static str> {
        self.plan
            .nodes
            .speaks_of_nodes()
            .then(|| self.plan.nodes.dsm.name())
    }

    /// The runtime of that name, if it is a protocol's.
    pub(in crate::commands) fn runtime(
        &self,
        name: &str,
        settings: &Settings,
        unpacked: &Unpacked,
    ) -> Result<Option<Runtime>, Failure> {
        let asked = &self.plan.nodes;
        let Some(protocol) = Protocol::of_name(name) else {
            return match self.across {
                Some(_) => Err(Failure::new(format!(
                    "\"{name}\" runs on one machine: over hosts, name home or homeless with --runtime"
                ))
                .with_code(exit::USAGE)),
                None => Ok(None),
            };
        };
        let between = match &self.across {
            Some(_) => Some("hosts".to_owned()),
            None => asked.net.map(Net::name),
        };
        let name = column_name(protocol, asked.dsm_plain, between.as_deref());
        let nodes = self.on_nodes(settings, protocol);
        let runtime = Runtime::on_nodes(&name, nodes, &unpacked.cluster_library)?;
        Ok(Some(runtime))
    }

    /// How a column runs on nodes.
    fn on_nodes(&self, settings: &Settings, protocol: Protocol) -> OnNodes {
        let asked = &self.plan.nodes;
        let words = |across: &Across, count: u32| {
            let cluster = Cluster {
                nodes: u16::try_from(count).unwrap_or(u16::MAX),
                dsm: protocol,
                dsm_plain: asked.dsm_plain,
                ..Cluster::ONE
            };
            (count, across.words(cluster))
        };
        let counts = settings.threads.iter().copied().chain([1]);
        let in_front = self.across.as_ref();
        let in_front = in_front.map(|across| counts.map(|count| words(across, count)).collect());
        OnNodes {
            plain: asked.dsm_plain,
            network: asked.net.map(|Net(network)| network),
            in_front: in_front.unwrap_or_default(),
            ..OnNodes::here(protocol)
        }
    }

    /// Rows about nodes need one of these runtimes.
    pub(in crate::commands) fn check(&self, runtimes: &[Runtime]) -> Result<(), Failure> {
        let on_nodes = runtimes.iter().any(|runtime| runtime.nodes.is_some());
        match self.plan.nodes.speaks_of_nodes() && !on_nodes {
            true => Err(Failure::new(
                "--nodes, --net and --dsm-plain speak of nodes, and no runtime runs on nodes: name home or homeless with --runtime",
            )
            .with_code(exit::USAGE)),
            false => Ok(()),
        }
    }
}

/// `home`, `home@hosts`, `homeless-plain@gige_amd`: by what is between the nodes.
pub(super) fn column_name(protocol: Protocol, plain: bool, between: Option<&str>) -> String {
    let plain = if plain { "-plain" } else { "" };
    let between = between.map_or_else(String::new, |name| format!("@{name}"));
    format!("{}{plain}{between}", protocol.name())
}
