//! `epoll_create`, `epoll_ctl` and `epoll_wait`.

use libc::c_int;

use crate::descriptors::Kind;
use crate::epoll::{Epoll, Interest};
use crate::errno::{Errno, Result};
use crate::stack::Stack;

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
        let interest = event.map(|(events, data)| Interest::new(events, data));
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
        // Closed descriptors leave the set.
        interests.retain(|&fd, _| self.descriptors.get(fd).is_ok());
        let mut found = Vec::new();
        for (&fd, interest) in &mut interests {
            if found.len() == limit {
                break;
            }
            let Ok(ready) = self.readiness(fd) else { continue };
            let events = interest.take(ready, self.event_counts(fd));
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
