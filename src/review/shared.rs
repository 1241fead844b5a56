//! A value that copies share until one of them changes it: what a reading holds is large, and looked at from many sides.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A value that copies share until one of them changes it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Shared<T>(Arc<T>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_by_its_own_copy_only() {
        let one = Shared::from(vec![1]);
        let mut other = one.clone();
        other.push(2);
        assert_eq!((one.len(), other.len()), (1, 2));
    }
}
