//! What C holds by a pointer.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::status::{Code, Failure};

/// Values by the keys that C holds as pointers. No key is given twice, to whatever kind of value, so a pointer that is
/// old, wrong or of another kind finds nothing. Every call locks the value that it is about.
pub(crate) struct Registry<T> {
    kind: &'static str,
    values: Mutex<BTreeMap<usize, Arc<Mutex<T>>>>,
}

impl<T> Registry<T> {
    pub(crate) const fn new(kind: &'static str) -> Self {
        Self { kind, values: Mutex::new(BTreeMap::new()) }
    }

    pub(crate) fn insert(&self, value: T) -> usize {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        let key = NEXT.fetch_add(1, Ordering::Relaxed);
        self.values().insert(key, Arc::new(Mutex::new(value)));
        key
    }

    pub(crate) fn remove(&self, key: usize) -> Result<(), Failure> {
        // Dropped outside of the lock of the map.
        let removed = self.values().remove(&key);
        removed.map(drop).ok_or_else(|| self.unknown(key))
    }

    pub(crate) fn with<R, E>(
        &self,
        key: usize,
        work: impl FnOnce(&mut T) -> Result<R, E>,
    ) -> Result<R, Failure>
    where
        Failure: From<E>,
    {
        let value = self.values().get(&key).cloned().ok_or_else(|| self.unknown(key))?;
        let Ok(mut value) = value.lock() else {
            let text = format!(
                "this {} met a defect of headway in an earlier call and can only be freed",
                self.kind
            );
            return Err(Failure::new(Code::Panic, text));
        };
        Ok(work(&mut value)?)
    }

    /// No call works under this lock, so that a panic leaves nothing half changed.
    fn values(&self) -> MutexGuard<'_, BTreeMap<usize, Arc<Mutex<T>>>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unknown(&self, key: usize) -> Failure {
        let kind = self.kind;
        match key {
            0 => Failure::new(Code::Null, format!("{kind}: expected a {kind}, got a null pointer")),
            _ => Failure::new(
                Code::Handle,
                format!("{kind}: this pointer is no {kind}, or one that was freed"),
            ),
        }
    }
}
