use super::connect::{Connector, Goal};
use super::handshake::{self, HELLO_BYTES, Hello};
use super::listen::{Listener, Wanted};
use crate::key::{Key, random};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

const HELLO: Hello = Hello {
    generation: 1,
    from: 0,
    to: 2,
    secure: false,
};
/// Nothing here takes that long; a test must fail, not hang.
const LONG: Duration = Duration::from_secs(60);

/// A host with nodes 2 and 3 of 4.
fn listener(key: &Key) -> (Listener, Receiver<(Hello, TcpStream)>) {
    let (came, comes) = mpsc::channel();
    let wanted = Wanted::Nodes {
        here: 2..4,
        nodes: 4,
        secure: false,
    };
    let listener = Listener::start(None, key.clone(), wanted, move |hello, _, stream| {
        drop(came.send((hello, stream)));
    });
    (listener.unwrap(), comes)
}

/// One that listens at this port.
fn listener_at(port: u16, key: &Key) -> std::io::Result<Listener> {
    let wanted = Wanted::Agents { hosts: 2 };
    Listener::start(Some((port, port)), key.clone(), wanted, |_, _, _| {})
}

#[test]
fn a_port_can_be_had_again_at_once_but_not_while_it_is_listened_at() {
    let key = Key::fresh().unwrap();
    let (listener, comes) = listener(&key);
    let port = listener.port();
    let stream = knock(&listener);
    handshake::initiate(&stream, &key, HELLO).unwrap();
    // The end that closes first is the one whose port lingers.
    drop(comes.recv_timeout(LONG).unwrap());
    assert!(is_turned_away(&stream));
    drop(stream);
    let other = listener_at(port, &key).map(drop).unwrap_err();
    assert_eq!(other.kind(), std::io::ErrorKind::AddrInUse);
    drop(listener);
    // The thread that accepts closes the port as soon as it has seen that.
    let until = Instant::now() + LONG;
    while let Err(error) = listener_at(port, &key) {
        assert!(Instant::now() < until, "{error}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn knock(listener: &Listener) -> TcpStream {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, listener.port()));
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream
}

/// Whether the other side ends the connection, and says nothing before.
fn is_turned_away(mut stream: &TcpStream) -> bool {
    matches!(stream.read(&mut [0; 100]), Ok(0) | Err(_))
}

#[test]
fn both_sides_prove_themselves_and_get_one_connection() {
    let key = Key::fresh().unwrap();
    let (listener, comes) = listener(&key);
    let mut stream = knock(&listener);
    handshake::initiate(&stream, &key, HELLO).unwrap();
    let (hello, mut other) = comes.recv_timeout(LONG).unwrap();
    assert_eq!((hello, listener.strangers()), (HELLO, 0));
    stream.write_all(b"there").unwrap();
    other.write_all(b"back").unwrap();
    let (mut there, mut back) = ([0; 5], [0; 4]);
    other.read_exact(&mut there).unwrap();
    stream.read_exact(&mut back).unwrap();
    assert_eq!((&there, &back), (b"there", b"back"));
}

#[test]
fn ipv6_reaches_the_same_port() {
    let key = Key::fresh().unwrap();
    let (listener, _comes) = listener(&key);
    match TcpStream::connect(("::1", listener.port())) {
        Ok(stream) => drop(handshake::initiate(&stream, &key, HELLO).unwrap()),
        // This machine has no IPv6, which is all that may be wrong.
        Err(error) => assert!(TcpListener::bind("[::1]:0").is_err(), "{error}"),
    }
}

#[test]
fn a_wrong_key_is_refused_by_both() {
    let (listener, comes) = listener(&Key::fresh().unwrap());
    let stream = knock(&listener);
    let other = Key::fresh().unwrap();
    assert!(handshake::initiate(&stream, &other, HELLO).is_err());
    drop(stream);
    // One that cannot check goes on all the same.
    let mut stream = knock(&listener);
    let mut said = b"FATHOMP\x01\x01\0\0\0\0\0\x02\0\0".to_vec();
    said.extend([7; 32]);
    assert_eq!(said.len(), HELLO_BYTES);
    stream.write_all(&said).unwrap();
    stream.read_exact(&mut [0; 64]).unwrap();
    stream.write_all(&[9; 32]).unwrap();
    assert!(is_turned_away(&stream));
    assert!(comes.try_recv().is_err());
}

#[test]
fn what_was_said_before_is_worth_nothing() {
    let key = Key::fresh().unwrap();
    let (listener, comes) = listener(&key);
    // Somebody between the two keeps what the initiator says.
    let between = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = between.local_addr().unwrap();
    let initiates = std::thread::spawn({
        let key = key.clone();
        move || handshake::initiate(&TcpStream::connect(address).unwrap(), &key, HELLO).is_ok()
    });
    let (mut initiator, _) = between.accept().unwrap();
    let mut responder = knock(&listener);
    let (mut hello, mut answer, mut seal) = ([0; HELLO_BYTES], [0; 64], [0; 32]);
    initiator.read_exact(&mut hello).unwrap();
    responder.write_all(&hello).unwrap();
    responder.read_exact(&mut answer).unwrap();
    initiator.write_all(&answer).unwrap();
    initiator.read_exact(&mut seal).unwrap();
    responder.write_all(&seal).unwrap();
    assert!(initiates.join().unwrap());
    comes.recv_timeout(LONG).unwrap();
    // And says it again.
    let mut again = knock(&listener);
    again.write_all(&hello).unwrap();
    let mut other = [0; 64];
    again.read_exact(&mut other).unwrap();
    assert_ne!(other, answer);
    again.write_all(&seal).unwrap();
    assert!(is_turned_away(&again));
    assert!(comes.try_recv().is_err());
}

#[test]
fn a_hello_that_is_sent_back_to_its_sender_is_refused() {
    let key = Key::fresh().unwrap();
    let (listener, comes) = listener(&key);
    // Node 2, which listens here, connects to node 3; to others that is not theirs.
    for (from, to, secure) in [
        (2, 3, false),
        (0, 0, false),
        (0, 4, false),
        (3, 2, false),
        (0, 2, true),
    ] {
        let stream = knock(&listener);
        let hello = Hello {
            from,
            to,
            secure,
            ..HELLO
        };
        assert!(
            handshake::initiate(&stream, &key, hello).is_err(),
            "{hello:?}"
        );
    }
    assert!(comes.try_recv().is_err());
    assert_eq!(listener.strangers(), 5);
}

#[test]
fn strangers_are_turned_away_at_once_and_counted() {
    let key = Key::fresh().unwrap();
    let (listener, comes) = listener(&key);
    for words in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0xff; 200],
        &[0; 8],
        b"FATHOMP\x02",
    ] {
        let mut stream = knock(&listener);
        stream.write_all(words).unwrap();
        assert!(is_turned_away(&stream));
    }
    assert_eq!(listener.strangers(), 4);
    let stream = knock(&listener);
    handshake::initiate(&stream, &key, HELLO).unwrap();
    comes.recv_timeout(LONG).unwrap();
}

#[test]
fn those_who_say_nothing_keep_nobody_out() {
    let key = Key::fresh().unwrap();
    let (listener, comes) = listener(&key);
    let silent: Vec<TcpStream> = (0..300).map(|_| knock(&listener)).collect();
    let stream = knock(&listener);
    handshake::initiate(&stream, &key, HELLO).unwrap();
    comes.recv_timeout(LONG).unwrap();
    // In the end they are all given up.
    assert!(silent.iter().all(is_turned_away));
    assert_eq!(listener.strangers(), 300);
}

#[test]
fn a_stranger_that_answers_for_a_host_is_noticed_and_the_next_address_tried() {
    let key = Key::fresh().unwrap();
    let (listener, _comes) = listener(&key);
    let port = listener.port();
    // Another program at the same port, at another address of this machine.
    let stranger = TcpListener::bind(("127.0.0.77", port));
    let (told, tells) = mpsc::channel();
    let goal = Goal {
        hello: HELLO,
        name: Some("user@127.0.0.77".to_owned()),
        port,
        addresses: vec![Ipv4Addr::LOCALHOST.into()],
    };
    let answers = stranger.ok().map(|stranger| {
        std::thread::spawn(move || {
            let (mut stream, _) = stranger.accept().unwrap();
            let random: [u8; 64] = random().unwrap();
            stream.write_all(&random).unwrap();
            let _ = stream.read_to_end(&mut Vec::new());
        })
    });
    Connector::start(key, vec![goal], move |_, connected| {
        let _ = told.send(connected.is_ok());
    })
    .unwrap();
    assert!(tells.recv_timeout(LONG).unwrap());
    if let Some(answers) = answers {
        answers.join().unwrap();
    }
}

#[test]
fn a_host_that_cannot_be_reached_is_told_of_with_all_its_addresses() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let (told, tells) = mpsc::channel();
    let goal = Goal {
        hello: HELLO,
        name: Some("no-such-host.invalid".to_owned()),
        port,
        addresses: vec![Ipv4Addr::LOCALHOST.into()],
    };
    Connector::start(Key::fresh().unwrap(), vec![goal], move |_, connected| {
        drop(told.send(connected.map(drop).unwrap_err()));
    })
    .unwrap();
    let why = tells.recv_timeout(LONG).unwrap();
    assert!(why.contains("no-such-host.invalid: "), "{why}");
    assert!(why.contains(&format!("127.0.0.1:{port}: ")), "{why}");
}
