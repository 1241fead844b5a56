//! An editor stops working when its pull request is merged or closed: asked now and then beside it, never waited for.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::ports::Forge;

/// A pause between two questions that is longer than this lies between two editors.
const APART: Duration = Duration::from_secs(5);

/// Adds to what ends an editor that its pull request has ended. The forge is asked every `pause` while somebody asks here.
pub(super) fn stop<F>(signal: Rc<dyn Fn() -> bool>, forge: F, pause: Duration) -> Rc<dyn Fn() -> bool>
where
    F: Forge + Send + Sync + 'static,
{
    let forge = Arc::new(forge);
    let (ended, asking) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (asked, called) = (Cell::new(Instant::now()), Cell::new(None::<Instant>));
    Rc::new(move || {
        let now = Instant::now();
        if called.replace(Some(now)).is_none_or(|last| now.duration_since(last) > APART) {
            asked.set(now);
            ended.store(false, Ordering::Relaxed);
        }
        if now.duration_since(asked.get()) >= pause && !asking.swap(true, Ordering::AcqRel) {
            asked.set(now);
            let (forge, ended, asking) = (forge.clone(), ended.clone(), asking.clone());
            std::thread::spawn(move || {
                // What cannot be read says nothing.
                if forge.ended().unwrap_or(false) {
                    ended.store(true, Ordering::Relaxed);
                }
                asking.store(false, Ordering::Release);
            });
        }
        signal() || ended.load(Ordering::Relaxed)
    })
}
