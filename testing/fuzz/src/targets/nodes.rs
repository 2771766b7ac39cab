//! What nodes of a cluster send each other.

use crate::target::{Said, Shape, Target, about};
use fathomp_node::foreign;
use fathomp_omp::cluster::is_order;
use fathomp_omp::cluster::tasks::is_letter;
use fathomp_protocols::message::{Control, Message, PageCopy, Request, Term};
use fathomp_protocols::{
    Change, ChangeKind, Content, Diff, Interval, LockId, PageRange, PageSet, WriteNotice,
};
use fathomp_transport::local::foreign::receive;
use fathomp_types::{NodeId, PAGE_BYTES, PageId, ThreadId};

/// Messages of the protocols.
pub(super) const MESSAGE: Target = Target {
    name: "dsm-message",
    what: "messages of the protocols of shared memory",
    shape: Shape::Bytes,
    seeds: messages,
    read: decoded,
};

/// Diffs.
pub(super) const DIFF: Target = Target {
    name: "dsm-diff",
    what: "what changed in a page of another node",
    shape: Shape::Bytes,
    seeds: diffs,
    read: diff,
};

/// Frames.
pub(super) const FRAME: Target = Target {
    name: "node-frame",
    what: "messages between nodes, whatever they carry",
    shape: Shape::Bytes,
    seeds: frames,
    read: |input| {
        foreign::frame(input).map_or_else(|| Said::refused(&"it is no frame"), Said::read)
    },
};

/// Orders.
pub(super) const ORDER: Target = Target {
    name: "node-order",
    what: "orders for the next region",
    shape: Shape::Words,
    seeds: || vec![b"fathoml\x01".to_vec(), region_order()],
    read: |input| match is_order(input) {
        Ok(()) => Said::read(0),
        // The code that a region names is nobody's here.
        Err(error) if error.contains("no code at") => Said::read(1),
        Err(error) => Said::refused(&error),
    },
};

/// Letters.
pub(super) const LETTER: Target = Target {
    name: "node-letter",
    what: "tasks that come from other nodes, and what becomes of those that went there",
    shape: Shape::Words,
    seeds: letters,
    read: |input| match is_letter(input) {
        Ok(()) => Said::read(0),
        Err(error) => Said::refused(&error),
    },
};

/// Of each kind: a note, numbers that are waited for, a batch of a task and of one that goes
/// home, reports.
fn letters() -> Vec<Vec<u8>> {
    let words: [&[u64]; 4] = [
        &[2, 7 << 32 | 1],
        &[3, 4, 5, 6],
        &[
            4,
            1 << 32 | 1,
            9,
            8,
            0,
            0x40_1000,
            2,
            3,
            0,
            8 << 32 | 2,
            1,
            2,
        ],
        &[5, 1, 8, 3, 1000],
    ];
    let bytes = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
    words.into_iter().map(bytes).collect()
}

/// The program's world.
pub(super) const WORLD: Target = Target {
    name: "node-world",
    what: "changes of folder, environment and handlers that come with an order",
    shape: Shape::Bytes,
    seeds: worlds,
    read: |input| {
        foreign::order(input).map_or_else(
            || Said::refused(&"it is no order"),
            |n| Said::read(about(n)),
        )
    },
};

/// Messages in shared memory.
pub(super) const TRANSPORT: Target = Target {
    name: "transport",
    what: "the rings in which nodes of one machine leave messages",
    shape: Shape::Bytes,
    seeds: rings,
    read: transport,
};

fn encode(message: &Message<Content>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes, |what, bytes| match what {
        Content::Page(_) | Content::Twin(_) => bytes.extend([1; PAGE_BYTES]),
        Content::Diff(_) | Content::Kept(..) => bytes.extend(&diffs()[0]),
        Content::Fresh(_) => {}
    });
    bytes
}

fn decoded(input: &[u8]) -> Said {
    let mut contents = 0;
    let decoded = Message::decode(input, |range| {
        contents += 1;
        input[range].to_vec()
    });
    match decoded {
        Ok(_) => Said::read((input.first(), about(contents))),
        Err(error) => Said::refused(&error),
    }
}

fn controls() -> Vec<Control> {
    let pages = [1, 2, 3, 700_000].map(PageId).into_iter().collect();
    let notice = WriteNotice {
        recalls: false,
        first: true,
        late: false,
        writer: NodeId(1),
        interval: Interval(9),
        pages,
        knew: vec![(NodeId(2), Interval(4))],
    };
    let thread = ThreadId(3);
    vec![
        Control::Exchange {
            epoch: 2,
            request: Request::Acquire(LockId(77), thread),
            notice: Some(notice.clone()),
        },
        Control::Exchange {
            epoch: 2,
            request: Request::Learn(vec![(NodeId(1), Interval(4))]),
            notice: None,
        },
        Control::Granted {
            epoch: 2,
            thread: Some(thread),
            notices: vec![notice.clone(), notice.clone()],
        },
        Control::Refused { epoch: 1, thread },
        Control::Recall {
            epoch: 1,
            lock: LockId(u64::MAX),
        },
        Control::Arrive {
            epoch: 3,
            notices: vec![notice.clone()],
            full: true,
        },
        Control::Depart {
            epoch: 3,
            notices: vec![notice],
            full: false,
            cut: true,
        },
    ]
}

fn messages() -> Vec<Vec<u8>> {
    let versions = vec![(NodeId(0), Interval(3)), (NodeId(1), Interval(300))];
    let (epoch, page, thread) = (2, PageId(5), ThreadId(3));
    let mut all: Vec<Message<Content>> = controls().into_iter().map(Message::Control).collect();
    all.extend(PageRange::new(page, 3).map(|pages| Message::Fetch {
        epoch,
        pages,
        need: versions.clone(),
    }));
    let copy = |content| PageCopy {
        versions: versions.clone(),
        after: vec![(NodeId(1), Interval(4))],
        content,
    };
    let contents = [
        Content::Page(PageId(5)),
        Content::Fresh(PageId(6)),
        Content::Twin(PageId(8)),
    ];
    all.push(Message::Pages {
        epoch,
        first: page,
        copies: contents.map(copy).to_vec(),
    });
    all.push(Message::Diffs {
        epoch,
        interval: Interval(4),
        diffs: [8, 9]
            .map(|page| (PageId(page), Content::Diff(PageId(page))))
            .to_vec(),
        more: true,
    });
    all.push(Message::DiffsWanted {
        epoch,
        page,
        intervals: vec![Interval(3), Interval(200)],
    });
    all.push(Message::DiffsOfPage {
        epoch,
        page,
        diffs: vec![(Interval(3), Content::Kept(page, (NodeId(1), Interval(3))))],
    });
    let expected = 7;
    let kind = ChangeKind::CompareExchange { expected };
    all.extend(Change::new(64, 8, kind, 300).map(|change| Message::Change {
        epoch,
        page,
        thread,
        change,
        need: versions.clone(),
        known: versions.clone(),
    }));
    all.push(Message::Changed {
        epoch,
        thread,
        before: u64::MAX,
        shows: versions,
    });
    all.push(Message::Lease {
        epoch,
        term: Term::DropCopies(NodeId(1)),
        pages: PageSet::from_sorted(&[PageId(1), PageId(70_000)]),
    });
    all.iter().map(encode).collect()
}

fn diffs() -> Vec<Vec<u8>> {
    let twin = [0; PAGE_BYTES];
    let mut page = twin;
    page[7] = 1;
    page[100..180].fill(2);
    page[PAGE_BYTES - 1] = 3;
    let few = Diff::between(&twin, &page);
    let all = Diff::between(&twin, &[9; PAGE_BYTES]);
    vec![few.as_bytes().to_vec(), all.as_bytes().to_vec()]
}

fn diff(input: &[u8]) -> Said {
    match Diff::from_bytes(input) {
        Ok(diff) => {
            let mut page = [0; PAGE_BYTES];
            diff.apply(&mut page);
            let mut runs = 0;
            diff.visit(|range, bytes| {
                assert_eq!(page[range], *bytes, "a run that was not applied");
                runs += 1;
            });
            assert_eq!(runs, diff.runs(), "another number of runs");
            Said::read((diff.is_empty(), about(runs), about(input.len())))
        }
        Err(error) => Said::refused(&error),
    }
}

fn frames() -> Vec<Vec<u8>> {
    // Kinds and their numbers of words, as far as they have no body.
    let fixed = [
        (2, 0),
        (3, 1),
        (4, 1),
        (5, 2),
        (6, 2),
        (7, 3),
        (8, 4),
        (9, 4),
    ];
    let more = [(10, 2), (11, 1), (13, 5), (14, 1), (15, 3), (17, 4)];
    let with_words = fixed.into_iter().chain(more).map(|(kind, words)| {
        let mut frame = vec![kind];
        frame.extend((1..=words).flat_map(u64::to_le_bytes));
        frame
    });
    let with_body = [0_u8, 1, 12].map(|kind| [&[kind][..], b"12345678 body"].concat());
    with_words.chain(with_body).collect()
}

/// An order for a region of two threads.
fn region_order() -> Vec<u8> {
    let pair = |low: u64, high: u64| low | high << 32;
    let settings = u64::from_le_bytes([1, 0, 0, u8::MAX, 3, 1, 0, 0]);
    let mut words = [0; 21];
    words[..13].copy_from_slice(&[
        u64::from_le_bytes(*b"fathomr\x01"),
        0x5555_1000,
        0x7ffc_1000,
        0x5555_2000,
        pair(2, 1),
        pair(0, 1),
        0,
        9,
        pair(4, 100),
        0,
        pair(1, 0),
        settings,
        1,
    ]);
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn worlds() -> Vec<Vec<u8>> {
    let mut packed = b"order".to_vec();
    let part = |bytes: &mut Vec<u8>, text: &[u8]| {
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text);
    };
    let before = packed.len();
    packed.push(1);
    part(&mut packed, b"PATH");
    part(&mut packed, b"/usr/bin");
    let changes = (packed.len() - before) as u32;
    packed.extend(changes.to_le_bytes());
    vec![packed, [b"order".as_slice(), &[0; 4]].concat()]
}

/// Two messages of 5 and 300 bytes; before them, how many bytes are shown at a time.
fn rings() -> Vec<Vec<u8>> {
    let mut input = vec![2];
    for (sequence, length) in [(0_u32, 5_usize), (1, 300)] {
        input.extend((length as u32).to_le_bytes());
        input.extend(sequence.to_le_bytes());
        input.extend([0; 8]);
        input.extend(std::iter::repeat_n(7, length.next_multiple_of(16)));
    }
    vec![input]
}

fn transport(input: &[u8]) -> Said {
    let Some((step, bytes)) = input.split_first() else {
        return Said::refused(&"there is nothing");
    };
    let shown = match step {
        0..16 => 16 * u64::from(*step),
        16..250 => u64::from(*step),
        _ => u64::MAX - u64::from(*step),
    };
    let (messages, wrong) = receive(bytes, &[shown; 24]).expect("memory for rings");
    match wrong {
        Some(wrong) => Said::all([Said::read(about(messages)), Said::refused(&wrong)]),
        None => Said::read(about(messages)),
    }
}
