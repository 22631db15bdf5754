//! A gRPC message that must come in time, and takes a place until it has.

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Sleep;
use tonic::Status;

/// How long a message may take to come. The scheduler gives up after five seconds.
const MESSAGE_WITHIN: Duration = Duration::from_secs(5);

/// See the module.
#[derive(Debug)]
pub(crate) struct Timely {
    body: Body,
    end: Pin<Box<Sleep>>,
    _place: OwnedSemaphorePermit,
}

impl Timely {
    pub(crate) fn new(body: Body, place: OwnedSemaphorePermit) -> Self {
        Self { body, end: Box::pin(tokio::time::sleep(MESSAGE_WITHIN)), _place: place }
    }
}

impl HttpBody for Timely {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            return Poll::Ready(
                frame.map(|frame| frame.map_err(|error| Status::from_error(Box::new(error)))),
            );
        }
        match self.end.as_mut().poll(context) {
            Poll::Ready(()) => {
                let why = "the message did not come in time [OSTLER-L028]";
                Poll::Ready(Some(Err(Status::deadline_exceeded(why))))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
