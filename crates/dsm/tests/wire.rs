//! Messages survive their journey, and nothing else is taken for one.

use fathomp_base::{NodeId, PAGE_BYTES, PageId, ThreadId};
use fathomp_dsm::home::{Control, Home, Message, PageCopy, Request, Version};
use fathomp_dsm::{Content, Diff, Interval, LockId, Notice, PageRange, Protocol};
use proptest::prelude::*;

type Bytes = Vec<u8>;

/// Content that can be told apart by its page.
fn content(what: Content) -> Bytes {
    let mut page = [0; PAGE_BYTES];
    match what {
        Content::Page(PageId(id)) => {
            page[..4].copy_from_slice(&id.to_le_bytes());
            page.to_vec()
        }
        Content::Diff(PageId(id)) => {
            let twin = page;
            page[id as usize % PAGE_BYTES] = 1;
            page[id as usize / 7 % PAGE_BYTES] = 2;
            Diff::between(&twin, &page).as_bytes().to_vec()
        }
    }
}

fn encode(message: &Message<Content>) -> Bytes {
    let mut bytes = Vec::new();
    Home::<Bytes>::encode(message, &mut bytes, |what, bytes| {
        bytes.extend(content(what))
    });
    bytes
}

fn decode(bytes: &[u8]) -> Option<Message<Bytes>> {
    Home::decode(bytes, |range| bytes[range].to_vec()).ok()
}

fn version() -> impl Strategy<Value = Version> {
    (any::<u16>(), any::<u32>()).prop_map(|(node, interval)| (NodeId(node), Interval(interval)))
}

fn versions() -> impl Strategy<Value = Vec<Version>> {
    prop::collection::vec(version(), 0..4)
}

fn notice() -> impl Strategy<Value = Notice> {
    let pages = prop::collection::vec(prop_oneof![0..20_u32, any::<u32>()], 0..9);
    (version(), pages).prop_map(|((writer, interval), pages)| Notice {
        writer,
        interval,
        pages: pages.into_iter().map(PageId).collect(),
    })
}

fn notices() -> impl Strategy<Value = Vec<Notice>> {
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
    let pages = (any::<u32>(), 1..9_u32).prop_filter_map("beyond the last page", |(first, n)| {
        PageRange::new(PageId(first), n)
    });
    prop_oneof![
        (any::<u32>(), pages, versions()).prop_map(|(epoch, pages, need)| Control::Fetch {
            epoch,
            pages,
            need
        }),
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
        any::<u32>().prop_map(|epoch| Control::Demand { epoch }),
        (any::<u32>(), notices()).prop_map(|(epoch, notices)| Control::Arrive { epoch, notices }),
        (any::<u32>(), notices()).prop_map(|(epoch, notices)| Control::Depart { epoch, notices }),
    ]
}

fn message() -> impl Strategy<Value = Message<Content>> {
    let page = || any::<u32>().prop_map(PageId);
    let copy = (versions(), page()).prop_map(|(versions, page)| PageCopy {
        versions,
        content: Content::Page(page),
    });
    let diff = page().prop_map(|page| (page, Content::Diff(page)));
    prop_oneof![
        4 => control().prop_map(Message::Control),
        1 => (any::<u32>(), page(), prop::collection::vec(copy, 0..3)).prop_map(
            |(epoch, first, copies)| Message::Pages { epoch, first, copies }
        ),
        1 => (any::<u32>(), any::<u32>(), prop::collection::vec(diff, 0..4)).prop_map(
            |(epoch, interval, diffs)| Message::Diffs {
                epoch,
                interval: Interval(interval),
                diffs
            }
        ),
    ]
}

proptest! {
    #[test]
    fn messages_arrive_as_they_were_sent(message in message()) {
        let bytes = encode(&message);
        prop_assert_eq!(decode(&bytes), Some(Home::<Bytes>::fill(message, content)));
    }

    #[test]
    fn parts_of_messages_are_refused(message in message(), cut in any::<prop::sample::Index>()) {
        let bytes = encode(&message);
        prop_assert_eq!(decode(&bytes[..cut.index(bytes.len())]), None);
        prop_assert_eq!(decode(&[&bytes[..], &[0]].concat()), None);
    }

    #[test]
    fn no_bytes_make_it_panic(
        message in message(),
        at in any::<prop::sample::Index>(),
        noise in prop::collection::vec(any::<u8>(), 1..40),
    ) {
        let _ = decode(&noise);
        let mut bytes = encode(&message);
        let at = at.index(bytes.len());
        let end = bytes.len().min(at + noise.len());
        bytes[at..end].copy_from_slice(&noise[..end - at]);
        let _ = decode(&bytes);
    }
}
