//! The memory of streams is limited.

use tokio::time::{sleep, timeout};

use super::pair::{LONG, Pair, server, through};

#[tokio::test(flavor = "multi_thread")]
async fn beyond_the_memory_streams_are_refused_until_others_have_ended() {
    // At once, since memory is looked at from time to time only.
    tokio::join!(limited(true), limited(false));
}

async fn limited(limits_near: bool) {
    let mut pair = Pair::start("").await;
    let (slot, config) =
        if limits_near { (&mut pair.near, &pair.near_config) } else { (&mut pair.far, &pair.far_config) };
    let mut limited = config.clone();
    limited.gateway.memory = Some("2MiB".into());
    slot.take().expect("running").close().await.expect("an orderly end");
    *slot = Some(super::restart(&limited).await);
    pair.socks = pair.near.as_ref().expect("running").entries()[0];
    pair.connected().await;
    let (listener, address) = server().await;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            // Until the client ends.
            tokio::spawn(async move { tokio::io::copy(&mut stream, &mut tokio::io::sink()).await });
        }
    });
    // Two buffers of 64 KiB each are 2 MiB for 16 streams, without what TCP needs. It is looked at from time to time.
    let mut streams = Vec::new();
    let refused = timeout(LONG, async {
        loop {
            match through(pair.socks, address).await {
                Ok(stream) => streams.push(stream),
                Err(reply) => return reply,
            }
            // Not more than fits until it is looked at.
            sleep(std::time::Duration::from_millis(20)).await;
        }
    });
    // RFC 1928, 6: a general failure.
    assert_eq!(refused.await.expect("a refusal"), 1);
    let limited = if limits_near { &pair.near } else { &pair.far };
    let status = limited.as_ref().expect("running").status();
    assert!(!streams.is_empty() && status.memory_bytes >= 2 << 20, "{} of {status:?}", streams.len());
    assert!(status.peers[0].refused_streams >= 1);
    streams.clear();
    let again = timeout(LONG, async {
        while through(pair.socks, address).await.is_err() {
            sleep(std::time::Duration::from_millis(50)).await;
        }
    });
    again.await.expect("a stream");
}
