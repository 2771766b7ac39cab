//! Leagues of teams.

use super::{ask, ask_with, count};
use fathomp_omp::cluster::{Setting, process};
use fathomp_omp::{query, runtime};

ask! {
    /// Teams in the league; 1 outside a `teams` region.
    omp_get_num_teams, omp_get_num_teams_ -> i32 = count(query::num_teams());
    /// Number of the caller's team in its league.
    omp_get_team_num, omp_get_team_num_ -> i32 = count(query::team_num());
    /// `nteams-var`; 0 if unset.
    omp_get_max_teams, omp_get_max_teams_ -> i32 = runtime().device.num_teams();
    /// `teams-thread-limit-var`; 0 if unset.
    omp_get_teams_thread_limit, omp_get_teams_thread_limit_ -> i32 =
        runtime().device.teams_thread_limit();
}

ask_with! {
    /// Sets `nteams-var`. A negative number has no effect.
    omp_set_num_teams, omp_set_num_teams_, omp_set_num_teams_8_ (teams) -> () =
        set_num_teams(teams);
    /// Sets `teams-thread-limit-var`. A negative number has no effect.
    omp_set_teams_thread_limit, omp_set_teams_thread_limit_, omp_set_teams_thread_limit_8_
    (limit) -> () = set_teams_thread_limit(limit);
}

fn set_num_teams(teams: i32) {
    runtime().device.set_num_teams(teams);
    if let Some(process) = process() {
        process.sets("omp_set_num_teams", Setting::Teams(teams));
    }
}

fn set_teams_thread_limit(limit: i32) {
    runtime().device.set_teams_thread_limit(limit);
    if let Some(process) = process() {
        process.sets(
            "omp_set_teams_thread_limit",
            Setting::TeamsThreadLimit(limit),
        );
    }
}
