//! What is to be done about a region when it is met first.

use super::asked::Asked;
use fathomp_sys::modules;
use fathomp_teams::Advised;

/// A region's place and what the advice says of it.
pub(super) struct Found {
    /// Its module's file.
    pub(super) module: String,
    /// Addresses of body and call in it; the call's is 0 if it is elsewhere.
    pub(super) function: u64,
    pub(super) call: u64,
    /// Whether the module keeps data of each thread.
    pub(super) thread_data: bool,
    pub(super) advised: Option<&'static Advised>,
}

/// Looks a region up. Slow.
pub(super) fn find(advice: &'static Asked, function: usize, call: usize) -> Found {
    let Some(loaded) = modules::loaded(function) else {
        return Found {
            module: String::new(),
            function: function as u64,
            call: 0,
            thread_data: true,
            advised: None,
        };
    };
    let module = loaded.path.to_string_lossy().into_owned();
    let build_id: String = loaded
        .build_id
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let address = (function as u64).wrapping_sub(loaded.bias);
    let known = advice.table.module(&build_id, &module);
    let here = modules::locate(call).filter(|at| at.module == loaded.path);
    Found {
        function: address,
        call: here.map_or(0, |at| at.address),
        thread_data: loaded.thread_data,
        advised: known.and_then(|known| known.region(address)),
        module,
    }
}
