use super::*;

/// A course whose time goes on by itself.
struct Try {
    course: RunState,
    now: Instant,
    said: Vec<String>,
    sent: Vec<(u16, Down)>,
}

const OK: Ending = Ending::Exited(0);

impl Try {
    /// A run on hosts a, b and c.
    fn new() -> Self {
        let now = Instant::now();
        let hosts = Hosts::parse("a,b:2,c").unwrap();
        Self {
            course: RunState::new(
                hosts,
                (Duration::from_secs(30), Manner::STARTED_FROM_HERE),
                now,
            ),
            now,
            said: Vec::new(),
            sent: Vec::new(),
        }
    }

    /// The same, when all agents are ready.
    fn going() -> Self {
        let mut tried = Self::new();
        for host in 0..3 {
            tried.hear(host, Up::Ready(Place::default()));
        }
        assert!(matches!(tried.sent[..], [(ALL, Down::Go(_))]));
        tried
    }

    /// The same, when all programs have become nodes.
    fn met() -> Self {
        let mut tried = Self::going();
        for host in 0..3 {
            tried.hear(host, Up::Asked(1));
        }
        tried
    }

    fn hear(&mut self, host: u16, said: Up) -> &mut Self {
        self.course.hear(host, said, self.now);
        self.wait(0)
    }

    /// So many milliseconds later.
    fn wait(&mut self, ms: u64) -> &mut Self {
        self.now += Duration::from_millis(ms);
        self.course.tick(self.now);
        for action in self.course.actions() {
            match action {
                Action::Send(host, what) => self.sent.push((host, what)),
                Action::Say(sentence) => self.said.push(sentence),
                Action::Begin => {}
            }
        }
        self
    }

    fn is_stopped(&self) -> bool {
        let is_stop = |(to, what): &(u16, Down)| *to == ALL && matches!(what, Down::Stop(_));
        self.sent.iter().any(is_stop)
    }

    /// After all agents have left: the verdict, and what was said.
    fn end(&mut self) -> (Option<Ending>, Option<bool>, String) {
        assert!(self.is_stopped());
        for host in 0..3 {
            self.hear(host, Up::Bye { strangers: 0 });
        }
        let verdict = self.course.verdict(self.now).unwrap();
        (verdict.status, verdict.failed, self.said.join("\n"))
    }
}

fn report(by: u16, node: u16) -> Up {
    Up::Report {
        by,
        node,
        text: "it broke".to_owned(),
    }
}

#[test]
fn a_run_ends_when_all_programs_have() {
    let mut run = Try::met();
    for host in [1, 0, 2] {
        assert!(!run.is_stopped());
        run.hear(host, Up::Ended(OK));
    }
    assert_eq!(run.end(), (Some(OK), None, String::new()));
    assert!(run.sent.contains(&(ALL, Down::Stop(true))));
    assert!(run.course.verdict(run.now).unwrap().complete);
}

#[test]
fn a_program_that_goes_on_after_the_first_is_ended() {
    let mut run = Try::met();
    run.hear(0, Up::Ended(Ending::Exited(3))).wait(1_900);
    assert!(!run.is_stopped());
    run.wait(200);
    assert_eq!(run.end(), (Some(Ending::Exited(3)), None, String::new()));
}

#[test]
fn an_exit_on_any_host_is_the_programs_own() {
    let mut run = Try::met();
    run.hear(2, Up::Ended(Ending::Exited(3)));
    run.wait(500).hear(0, Up::Ended(Ending::Exited(3)));
    run.hear(1, Up::Ended(OK));
    assert_eq!(run.end(), (Some(Ending::Exited(3)), None, String::new()));
}

#[test]
fn an_exit_that_the_first_host_does_not_follow_is_a_failure() {
    let mut run = Try::met();
    run.hear(2, Up::Ended(Ending::Exited(3))).wait(1_100);
    let said = "host c: its program ended by exit code 3, and the run with it";
    assert_eq!(run.end(), (None, Some(true), said.to_owned()));
    let mut run = Try::met();
    run.hear(0, Up::Ended(OK)).hear(1, Up::Ended(OK));
    run.hear(2, Up::Ended(Ending::Exited(3)));
    assert_eq!(run.end(), (Some(OK), Some(true), said.to_owned()));
}

#[test]
fn of_several_signs_of_one_death_the_best_is_said_and_no_other() {
    let mut run = Try::met();
    run.hear(0, report(0, 1)).wait(50);
    run.hear(1, Up::Ended(Ending::Signalled(9)));
    run.hear(0, Up::Ended(Ending::Exited(70))).wait(100);
    run.hear(2, report(3, 1)).wait(110);
    assert!(run.is_stopped());
    run.hear(2, Up::Ended(Ending::Signalled(9))).wait(1_000);
    let said = "host b: its program was killed by signal 9 (SIGKILL)";
    let status = Some(Ending::Exited(70));
    assert_eq!(run.end(), (status, Some(true), said.to_owned()));
}

#[test]
fn a_nodes_own_words_are_the_best() {
    let mut run = Try::met();
    run.hear(1, Up::Ended(Ending::Signalled(6)));
    run.hear(0, report(2, 2)).wait(250);
    assert_eq!(run.said, ["node 2 (host b): it broke"]);
    assert!(run.is_stopped());
}

#[test]
fn a_report_that_comes_after_the_first_host_has_ended_is_said() {
    let mut run = Try::met();
    run.hear(0, Up::Ended(Ending::Exited(70))).wait(300);
    run.hear(2, report(3, 3)).wait(250);
    let said = "node 3 (host c): it broke".to_owned();
    assert_eq!(run.end(), (Some(Ending::Exited(70)), Some(true), said));
}

#[test]
fn a_host_that_cannot_take_part_ends_the_run_before_it_begins() {
    let mut run = Try::new();
    run.hear(0, Up::Ready(Place::default()));
    run.hear(2, Up::Failed("there is no program".to_owned()))
        .wait(250);
    let said = "host c: there is no program".to_owned();
    assert_eq!(run.end(), (None, Some(false), said));
}

#[test]
fn an_agent_that_is_lost_is_named() {
    let mut run = Try::met();
    run.course.lose(1, "it has not answered", run.now);
    run.wait(250);
    assert_eq!(run.said, ["host b: it has not answered"]);
    // Others are told not to wait for it.
    assert!(run.sent.contains(&(ALL, Down::Stop(false))));
    assert_eq!(run.end().1, Some(true));
    assert!(!run.course.verdict(run.now).unwrap().complete);
    // One that was asked to leave may be gone as it likes.
    let mut run = Try::met();
    run.hear(0, Up::Ended(OK));
    run.course.lose(1, "it has not answered", run.now);
    run.wait(2_100);
    assert_eq!(run.end(), (Some(OK), None, String::new()));
    assert!(!run.course.verdict(run.now).unwrap().complete);
    // So is one that is lost on the way, or that does not leave in time.
    let mut run = Try::met();
    for host in [0, 1, 2] {
        run.hear(host, Up::Ended(OK));
    }
    run.hear(0, Up::Bye { strangers: 0 });
    run.course.lose(2, "it has not answered", run.now);
    assert_eq!(run.course.verdict(run.now), None);
    run.wait(3_100);
    let verdict = run.course.verdict(run.now).unwrap();
    assert_eq!((verdict.failed, verdict.complete), (None, false));
}

#[test]
fn agents_that_do_not_come_are_named_together() {
    let mut run = Try::new();
    run.hear(1, Up::Ready(Place::default()))
        .wait(30_000)
        .wait(250);
    assert!(
        run.said[0].starts_with("hosts a, c: no agent was ready within 30 s"),
        "{:?}",
        run.said
    );
    assert_eq!(run.end().1, Some(false));
}

#[test]
fn programs_that_do_not_become_nodes_are_named_together() {
    let mut run = Try::going();
    run.wait(100_000).hear(1, Up::Asked(1)).wait(29_000);
    assert!(!run.is_stopped());
    run.wait(1_000).wait(250);
    assert!(
        run.said[0].starts_with("hosts a, c: the program did not become a node"),
        "{:?}",
        run.said
    );
    run.end();
}

#[test]
fn a_program_that_ended_without_becoming_a_node_is_not_waited_for() {
    for order in [[2, 1], [1, 2]] {
        let mut run = Try::going();
        for host in order {
            match host {
                2 => run.hear(2, Up::Ended(OK)),
                _ => run.hear(1, Up::Asked(1)),
            };
        }
        run.wait(1_100);
        assert!(
            run.said[0].starts_with("host c: its program ended without becoming a node"),
            "{:?}",
            run.said
        );
        run.end();
    }
}

#[test]
fn programs_that_never_become_nodes_are_as_good_as_others() {
    let mut run = Try::going();
    for host in 0..3 {
        run.wait(100_000).hear(host, Up::Ended(OK));
        if host == 0 {
            run.wait(100);
        }
    }
    assert_eq!(run.said, [""; 0]);
}

#[test]
fn a_signal_is_passed_on_and_then_enforced() {
    let mut run = Try::met();
    run.course.signal(15, run.now);
    run.wait(3_900);
    assert!(run.sent.contains(&(ALL, Down::Signal(15))) && !run.is_stopped());
    run.hear(1, Up::Ended(Ending::Signalled(15)));
    run.wait(200);
    let (status, failed, said) = run.end();
    assert_eq!((status, failed, said.as_str()), (None, None, ""));
    assert_eq!(run.course.verdict(run.now).unwrap().interrupted, Some(15));
    let mut run = Try::new();
    run.course.signal(2, run.now);
    run.wait(0);
    assert!(run.is_stopped());
    let mut run = Try::met();
    run.course.signal(10, run.now);
    run.wait(100_000);
    assert!(!run.is_stopped());
}

#[test]
fn a_first_program_that_dies_by_a_signal_is_named_unless_nobody_reads() {
    let mut run = Try::met();
    run.hear(0, Up::Ended(Ending::Signalled(11))).wait(250);
    assert_eq!(
        run.said,
        ["host a: its program was killed by signal 11 (SIGSEGV)"]
    );
    let mut run = Try::met();
    run.hear(0, Up::Ended(Ending::Signalled(13))).wait(2_100);
    assert_eq!(
        run.end(),
        (Some(Ending::Signalled(13)), None, String::new())
    );
}

#[test]
fn agents_that_do_not_leave_are_not_waited_for() {
    let mut run = Try::met();
    run.course.broken("the disk is full".to_owned(), run.now);
    run.wait(250);
    assert_eq!(run.said, ["the disk is full"]);
    assert!(run.is_stopped() && run.course.verdict(run.now).is_none());
    run.wait(3_000);
    assert!(run.course.verdict(run.now).is_some());
}

#[test]
fn a_host_that_takes_all_others_for_dead_is_outvoted() {
    let mut run = Try::met();
    run.hear(2, report(3, 0))
        .hear(0, report(0, 3))
        .hear(1, report(1, 3))
        .wait(600);
    assert_eq!(run.said, ["node 3 (host c): it broke"]);
}
