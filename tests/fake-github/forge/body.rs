//! Bodies that break, drip or swell.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use http_body::{Frame, SizeHint};

use super::http::Mode;

/// A body that breaks, drips or swells.
pub struct Spoiled {
    left: Bytes,
    mode: Mode,
    total: u64,
    blanks: u64,
    pause: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl Spoiled {
    /// Wraps the true body.
    pub fn new(body: Vec<u8>, mode: Mode) -> Self {
        let blanks = if let Mode::Blanks(n) = mode { n } else { 0 };
        Self { total: body.len() as u64 + blanks, left: Bytes::from(body), mode, blanks, pause: None }
    }

    fn take(&mut self, count: usize) -> Bytes {
        let count = count.min(self.left.len());
        self.left.split_to(count)
    }
}

impl HttpBody for Spoiled {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        let this = self.get_mut();
        if let Some(pause) = &mut this.pause {
            if std::future::Future::poll(pause.as_mut(), cx).is_pending() {
                return Poll::Pending;
            }
            this.pause = None;
        }
        if this.blanks > 0 {
            let some = this.blanks.min(1 << 16);
            this.blanks -= some;
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from(vec![b' '; some as usize])))));
        }
        match this.mode {
            Mode::Break(0) => Poll::Ready(Some(Err(std::io::Error::other("scripted break")))),
            Mode::Break(n) => {
                // The bytes must be on the wire before the break.
                let part = this.take(n.min(this.left.len().saturating_sub(1)));
                this.mode = Mode::Break(0);
                this.pause = Some(Box::pin(tokio::time::sleep(Duration::from_millis(20))));
                Poll::Ready(Some(Ok(Frame::data(part))))
            }
            _ if this.left.is_empty() => Poll::Ready(None),
            Mode::Trickle(n, ms) => {
                this.pause = Some(Box::pin(tokio::time::sleep(Duration::from_millis(ms))));
                Poll::Ready(Some(Ok(Frame::data(this.take(n.max(1))))))
            }
            _ => Poll::Ready(Some(Ok(Frame::data(this.take(usize::MAX))))),
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.total)
    }
}
