//! Messages survive their journey, and nothing else is taken for one.

use fathomp_protocols::message::{Control, Message, PageCopy, Request, Term};
use fathomp_protocols::order::Version;
use fathomp_protocols::{
    Change, ChangeKind, Content, Diff, Interval, LockId, PageRange, WriteNotice,
};
use fathomp_types::{NodeId, PAGE_BYTES, PageId, ThreadId};
use proptest::prelude::*;
use std::ops::Range;

type Bytes = Vec<u8>;

/// Content that can be told apart by its page.
fn content(what: Content) -> Bytes {
    let mut page = [0; PAGE_BYTES];
    match what {
        Content::Fresh(PageId(id)) if id % 2 == 0 => Vec::new(),
        Content::Page(PageId(id)) | Content::Fresh(PageId(id)) | Content::Twin(PageId(id)) => {
            page[..4].copy_from_slice(&id.to_le_bytes());
            page.to_vec()
        }
        Content::Diff(PageId(id)) | Content::Kept(PageId(id), _) => {
            let twin = page;
            page[id as usize % PAGE_BYTES] = 1;
            page[id as usize / 7 % PAGE_BYTES] = 2;
            Diff::between(&twin, &page).as_bytes().to_vec()
        }
    }
}

fn encode(message: &Message<Content>) -> Bytes {
    let mut bytes = Vec::new();
    message.encode(&mut bytes, |what, bytes| bytes.extend(content(what)));
    bytes
}

fn decode(bytes: &[u8]) -> Option<Message<Bytes>> {
    Message::decode(bytes, |range: Range<usize>| bytes[range].to_vec()).ok()
}

fn version() -> impl Strategy<Value = Version> {
    (any::<u16>(), any::<u32>()).prop_map(|(node, interval)| (NodeId(node), Interval(interval)))
}

fn versions() -> impl Strategy<Value = Vec<Version>> {
    prop::collection::vec(version(), 0..4)
}

fn notice() -> impl Strategy<Value = WriteNotice> {
    let pages = prop::collection::vec(prop_oneof![0..20_u32, any::<u32>()], 0..9);
    let flags = any::<(bool, bool, bool)>();
    (version(), pages, flags).prop_map(|((writer, interval), pages, (recalls, late, first))| {
        WriteNotice {
            recalls,
            first,
            late,
            writer,
            interval,
            pages: pages.into_iter().map(PageId).collect(),
            knew: Vec::new(),
        }
    })
}

fn notices() -> impl Strategy<Value = Vec<WriteNotice>> {
    prop::collection::vec(notice(), 0..4)
}

fn thread() -> impl Strategy<Value = ThreadId> {
    any::<u32>().prop_map(ThreadId)
}

fn request() -> impl Strategy<Value = Request> {
    let lock = || any::<u64>().prop_map(LockId);
    prop_oneof![
        thread().prop_map(Request::Flush),
        (lock(), thread()).prop_map(|(lock, thread)| Request::Acquire(lock, thread)),
        (lock(), thread()).prop_map(|(lock, thread)| Request::TryAcquire(lock, thread)),
        lock().prop_map(Request::Release),
        Just(Request::Publish),
        versions().prop_map(Request::Learn),
    ]
}

fn control() -> impl Strategy<Value = Control> {
    prop_oneof![
        (any::<u32>(), request(), prop::option::of(notice())).prop_map(
            |(epoch, request, notice)| Control::Exchange {
                epoch,
                request,
                notice
            }
        ),
        (any::<u32>(), prop::option::of(thread()), notices()).prop_map(
            |(epoch, thread, notices)| Control::Granted {
                epoch,
                thread,
                notices
            }
        ),
        (any::<u32>(), thread()).prop_map(|(epoch, thread)| Control::Refused { epoch, thread }),
        version().prop_map(|(_, interval)| Control::Demand {
            epoch: interval.0,
            interval
        }),
        any::<u32>().prop_map(|epoch| Control::Alert { epoch }),
        (any::<u32>(), any::<u64>()).prop_map(|(epoch, lock)| Control::Recall {
            epoch,
            lock: LockId(lock),
        }),
        (any::<u32>(), notices(), any::<bool>()).prop_map(|(epoch, notices, full)| {
            Control::Arrive {
                epoch,
                notices,
                full,
            }
        }),
        (any::<u32>(), notices(), any::<[bool; 2]>()).prop_map(|(epoch, notices, [full, cut])| {
            Control::Depart {
                epoch,
                notices,
                full,
                cut,
            }
        }),
    ]
}

fn pages() -> impl Strategy<Value = PageRange> {
    (any::<u32>(), 1..9_u32).prop_filter_map("beyond the last page", |(first, pages)| {
        PageRange::new(PageId(first), pages)
    })
}

fn message() -> impl Strategy<Value = Message<Content>> {
    let page = || any::<u32>().prop_map(PageId);
    let content = (page(), 0..3_usize).prop_map(|(page, kind)| {
        let kinds = [Content::Page, Content::Fresh, Content::Twin];
        kinds[kind](page)
    });
    let copy = (versions(), versions(), content).prop_map(|(versions, after, content)| PageCopy {
        versions,
        after,
        content,
    });
    let diff = page().prop_map(|page| (page, Content::Diff(page)));
    let intervals = || prop::collection::vec(any::<u32>().prop_map(Interval), 0..4);
    prop_oneof![
        4 => control().prop_map(Message::Control),
        1 => (any::<u32>(), pages(), versions()).prop_map(
            |(epoch, pages, need)| Message::Fetch { epoch, pages, need }
        ),
        1 => (any::<u32>(), page(), prop::collection::vec(copy, 0..3)).prop_map(
            |(epoch, first, copies)| Message::Pages { epoch, first, copies }
        ),
        1 => (any::<u32>(), any::<u32>(), prop::collection::vec(diff, 0..4), any::<bool>()).prop_map(
            |(epoch, interval, diffs, more)| Message::Diffs {
                epoch,
                interval: Interval(interval),
                diffs,
                more
            }
        ),
        1 => (any::<u32>(), page(), intervals()).prop_map(
            |(epoch, page, intervals)| Message::DiffsWanted { epoch, page, intervals }
        ),
        1 => (any::<u32>(), page(), intervals()).prop_map(|(epoch, page, intervals)| {
            let kept = |of| (of, Content::Kept(page, (NodeId(1), of)));
            let diffs = intervals.into_iter().map(kept).collect();
            Message::DiffsOfPage { epoch, page, diffs }
        }),
        1 => (any::<u32>(), page(), versions(), any::<bool>()).prop_map(
            |(epoch, page, wanted, whole)| Message::HandOn { epoch, page, wanted, whole }
        ),
        1 => (any::<u32>(), page(), versions()).prop_map(|(epoch, page, versions)| {
            let diffs = versions.into_iter().map(|of| (of, Content::Kept(page, of))).collect();
            Message::HandedOn { epoch, page, diffs }
        }),
        1 => (any::<u32>(), page(), thread(), change(), versions(), versions()).prop_map(
            |(epoch, page, thread, change, need, known)| {
                Message::Change { epoch, page, thread, change, need, known }
            }
        ),
        1 => (any::<u32>(), thread(), any::<u64>(), versions()).prop_map(
            |(epoch, thread, before, shows)| Message::Changed { epoch, thread, before, shows }
        ),
        1 => (any::<u32>(), term(), prop::collection::vec(page(), 0..9)).prop_map(
            |(epoch, term, pages)| Message::Lease { epoch, term, pages: pages.into_iter().collect() }
        ),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    let kind = prop_oneof![
        Just(ChangeKind::Add),
        Just(ChangeKind::And),
        Just(ChangeKind::Or),
        Just(ChangeKind::Xor),
        Just(ChangeKind::Exchange),
        any::<u64>().prop_map(|expected| ChangeKind::CompareExchange { expected }),
    ];
    let words = (0..512_usize, 0..4_u32, kind, any::<u64>());
    words.prop_map(|(word, size, kind, operand)| {
        Change::new(word * 8, 1 << size, kind, operand).expect("a word in a page")
    })
}

fn term() -> impl Strategy<Value = Term> {
    prop_oneof![
        Just(Term::Ask),
        Just(Term::Grant),
        Just(Term::Recall),
        Just(Term::Return),
        Just(Term::LeasedOut),
        any::<u16>().prop_map(|node| Term::DropCopies(NodeId(node))),
        any::<u16>().prop_map(|node| Term::CopiesDropped(NodeId(node))),
    ]
}

proptest! {
    /// Whole messages arrive as they were sent, others do not arrive.
    #[test]
    fn messages_arrive_whole_or_not_at_all(
        message in message(),
        cut in any::<prop::sample::Index>(),
        noise in prop::collection::vec(any::<u8>(), 1..40),
    ) {
        let mut bytes = encode(&message);
        prop_assert_eq!(decode(&bytes), Some(message.map(content)));
        let cut = cut.index(bytes.len());
        prop_assert_eq!(decode(&bytes[..cut]), None);
        prop_assert_eq!(decode(&[&bytes[..], &[0]].concat()), None);
        // Whatever comes of these, it is no panic.
        let _ = decode(&noise);
        let end = bytes.len().min(cut + noise.len());
        bytes[cut..end].copy_from_slice(&noise[..end - cut]);
        let _ = decode(&bytes);
    }
}
