//! Sockets between hosts: how they are set, and where this host can be reached.

use fathomp_sys::polling;
use nix::ifaddrs::getifaddrs;
use rustix::net::sockopt;
use std::io;
use std::net::{IpAddr, TcpStream};
use std::time::Duration;

/// How long a peer may leave bytes without an answer, be it that it does not read them: it may
/// have been stopped for a while, as by Ctrl-Z. Agents notice sooner that a host is gone.
const USER_TIMEOUT_MS: u32 = 20_000;
/// When an idle connection is first tried, and how often then.
const KEEP_ALIVE: Duration = Duration::from_secs(1);

/// Sets a connection as programs get it: small messages go at once, a link that is down is
/// noticed within seconds whether bytes are under way or not, and neither call waits.
pub(crate) fn prepare(stream: &TcpStream) -> io::Result<()> {
    settle(stream)?;
    stream.set_nonblocking(true)
}

/// The same for a connection that calls wait for.
pub(crate) fn settle(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, KEEP_ALIVE)?;
    sockopt::set_tcp_keepintvl(stream, KEEP_ALIVE)?;
    sockopt::set_tcp_user_timeout(stream, USER_TIMEOUT_MS)?;
    // Not every kernel can.
    let _ = polling::try_again_every_second(stream);
    // What a machine has by default may be made for far-away peers; this one need not be there.
    let _ = sockopt::set_tcp_congestion(stream, "cubic");
    Ok(())
}

/// Addresses of this host by which others may reach it, IPv4 first. Those of a link only mean
/// something together with an interface, whose name differs from host to host.
pub(crate) fn addresses() -> Vec<IpAddr> {
    /// More are tried by nobody.
    const ADDRESSES_MAX: usize = 16;
    let Ok(all) = getifaddrs() else {
        return Vec::new();
    };
    let address = |of: nix::ifaddrs::InterfaceAddress| {
        let address = of.address?;
        let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
        v4.or_else(|| Some(IpAddr::V6(address.as_sockaddr_in6()?.ip())))
    };
    let is_reachable = |address: &IpAddr| match address {
        IpAddr::V4(v4) => !v4.is_loopback() && !v4.is_link_local(),
        IpAddr::V6(v6) => !v6.is_loopback() && !v6.is_unicast_link_local(),
    };
    let mut found: Vec<IpAddr> = all.filter_map(address).filter(is_reachable).collect();
    found.sort();
    found.dedup();
    found.truncate(ADDRESSES_MAX);
    found
}
