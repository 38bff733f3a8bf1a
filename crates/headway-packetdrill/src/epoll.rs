//! `epoll`, level- and edge-triggered.

use std::collections::BTreeMap;

use libc::c_int;

use crate::descriptors::Kind;
use crate::errno::{Errno, Result};
use crate::readiness::Events;
use crate::sockets::News;
use crate::stack::Stack;

/// A set of descriptors and what is to be told of them.
#[derive(Debug, Default)]
pub(crate) struct Epoll {
    interests: BTreeMap<c_int, Interest>,
}

#[derive(Clone, Copy, Debug)]
struct Interest {
    events: u32,
    data: u64,
    /// What had happened when something was told last, for edge-triggered ones.
    told: Option<(u32, News)>,
    /// A one-shot that has fired.
    is_spent: bool,
}

impl Interest {
    /// What is to be told of it, and that it has been.
    fn take(&mut self, ready: Events, news: News) -> u32 {
        const EDGE: u32 = libc::EPOLLET as u32;
        const ONE_SHOT: u32 = libc::EPOLLONESHOT as u32;
        let ready = ready.0 & (self.events | Events::ERR | Events::HUP);
        if ready == 0 || self.is_spent {
            return 0;
        }
        if self.events & EDGE != 0 {
            let is_new = self.told.is_none_or(|(before, then)| then != news || ready & !before != 0);
            if !is_new {
                return 0;
            }
            self.told = Some((ready, news));
        }
        self.is_spent = self.events & ONE_SHOT != 0;
        ready
    }
}

impl Stack {
    /// `epoll_create`.
    pub(crate) fn epoll_create(&mut self, size: c_int) -> Result<c_int> {
        if size <= 0 {
            return Err(Errno(libc::EINVAL));
        }
        self.descriptors.add(Kind::Epoll(Epoll::default()), false)
    }

    /// `epoll_ctl`; `event` is the events and the data, which deleting does not need.
    pub(crate) fn epoll_ctl(
        &mut self,
        set: c_int,
        operation: c_int,
        fd: c_int,
        event: Option<(u32, u64)>,
    ) -> Result<()> {
        self.descriptors.get(fd)?;
        let Kind::Epoll(epoll) = &mut self.descriptors.get_mut(set)?.kind else {
            return Err(Errno(libc::EINVAL));
        };
        let interest = event.map(|(events, data)| Interest { events, data, told: None, is_spent: false });
        let known = epoll.interests.contains_key(&fd);
        match (operation, interest) {
            (libc::EPOLL_CTL_ADD, Some(_)) if known => return Err(Errno(libc::EEXIST)),
            (libc::EPOLL_CTL_MOD | libc::EPOLL_CTL_DEL, _) if !known => return Err(Errno(libc::ENOENT)),
            (libc::EPOLL_CTL_ADD | libc::EPOLL_CTL_MOD, Some(interest)) => {
                epoll.interests.insert(fd, interest);
            }
            (libc::EPOLL_CTL_DEL, _) => {
                epoll.interests.remove(&fd);
            }
            (libc::EPOLL_CTL_ADD | libc::EPOLL_CTL_MOD, None) => return Err(Errno(libc::EFAULT)),
            _ => return Err(Errno(libc::EINVAL)),
        }
        Ok(())
    }

    /// `epoll_wait`: events and data. [`Errno::WOULD_BLOCK`] if there are none.
    pub(crate) fn epoll_wait(&mut self, set: c_int, limit: usize) -> Result<Vec<(u32, u64)>> {
        let Kind::Epoll(epoll) = &mut self.descriptors.get_mut(set)?.kind else {
            return Err(Errno(libc::EINVAL));
        };
        let mut interests = std::mem::take(&mut epoll.interests);
        // A descriptor that was closed leaves the set.
        interests.retain(|&fd, _| self.descriptors.get(fd).is_ok());
        let mut found = Vec::new();
        for (&fd, interest) in &mut interests {
            if found.len() == limit {
                break;
            }
            let Ok(ready) = self.readiness(fd) else { continue };
            let events = interest.take(ready, self.news(fd));
            if events != 0 {
                found.push((events, interest.data));
            }
        }
        if let Kind::Epoll(epoll) = &mut self.descriptors.get_mut(set)?.kind {
            epoll.interests = interests;
        }
        if found.is_empty() { Err(Errno::WOULD_BLOCK) } else { Ok(found) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interest(events: c_int) -> Interest {
        Interest { events: events as u32, data: 0, told: None, is_spent: false }
    }

    #[test]
    fn a_level_is_told_again() {
        let mut interest = interest(libc::EPOLLIN);
        for _ in 0..2 {
            assert_eq!(interest.take(Events(Events::IN | Events::OUT), News::default()), Events::IN);
        }
    }

    #[test]
    fn an_edge_is_told_once_for_each_news() {
        let mut interest = interest(libc::EPOLLIN | libc::EPOLLET);
        let ready = Events(Events::IN);
        assert_eq!(interest.take(ready, News::default()), Events::IN);
        assert_eq!(interest.take(ready, News::default()), 0);
        assert_eq!(interest.take(ready, News { input: 1, output: 0 }), Events::IN);
    }

    #[test]
    fn a_one_shot_fires_once() {
        let mut interest = interest(libc::EPOLLIN | libc::EPOLLONESHOT);
        assert_eq!(interest.take(Events(Events::IN), News::default()), Events::IN);
        assert_eq!(interest.take(Events(Events::IN), News { input: 5, output: 5 }), 0);
    }
}
