//! Values with a name.

use std::{ops::Deref, sync::Arc};

/// What a file says, with a name, such as the path of the file; empty if it has none. Cheap to clone.
#[derive(Clone, Debug, Eq)]
pub struct Named<T>(Arc<(String, T)>);

impl<T> Named<T> {
    /// A value under this name.
    pub fn new(name: &str, value: T) -> Self {
        Self(Arc::new((name.to_owned(), value)))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.0
    }

    /// The same value under another name.
    #[must_use]
    pub fn named(self, name: &str) -> Self
    where
        T: Clone,
    {
        Self::new(name, Arc::unwrap_or_clone(self.0).1)
    }
}

impl<T> Deref for Named<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0.1
    }
}

impl<T: PartialEq> PartialEq for Named<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}
