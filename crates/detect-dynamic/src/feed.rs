//! Reading and judging side by side.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use trace::{Event, Events, RowCounts, Tables, TraceError};

/// Batches on their way. One is read, one is judged, and the others make up for a thread that was held up.
const BATCHES: usize = 4;

/// Large enough that handing a batch over costs nothing, small enough that all of them stay in the processor's cache.
const EVENTS: usize = 2048;

/// Hands all events of a trace to `take`, in order, and reads the next ones meanwhile on a thread of its own: to decode
/// an event costs about as much as to judge it.
pub fn feed(reader: &mut (impl Events + Send), mut take: impl FnMut(&[Event])) -> Result<(), TraceError> {
    run(reader, None, |events, _| take(events))
}

/// Like [`feed`], with tables that have at least what the events refer to: copies, since the reader is ahead.
pub fn feed_with_tables(
    reader: &mut (impl Events + Send),
    mut take: impl FnMut(&[Event], &Tables),
) -> Result<(), TraceError> {
    let mut tables = Tables::default();
    let counts = tables.row_counts();
    run(reader, Some(counts), |events, rows| {
        rows.into_iter().for_each(|rows| tables.append(rows));
        take(events, &tables);
    })
}

/// Events, and the rows that are new with them, if somebody wants these.
type Batch = (Vec<Event>, Option<Tables>);

fn run(
    reader: &mut (impl Events + Send),
    counts: Option<RowCounts>,
    mut take: impl FnMut(&[Event], Option<Tables>),
) -> Result<(), TraceError> {
    let (full, batches) = sync_channel::<Batch>(BATCHES);
    let (empty, emptied) = sync_channel(BATCHES);
    for _ in 0..BATCHES {
        // There is room for all of them, and the other end is below.
        let _ = empty.send(Vec::with_capacity(EVENTS));
    }
    thread::scope(|scope| {
        // Should `take` panic, both ends go with it, and the reading thread ends.
        let (empty, batches) = (empty, batches);
        let reading = scope.spawn(move || read(reader, counts, &emptied, &full));
        for (events, rows) in batches {
            take(&events, rows);
            // After its last batch the reading thread takes none back.
            let _ = empty.send(events);
        }
        reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Fills empty batches until the trace ends or nobody takes them any more.
fn read(
    reader: &mut impl Events,
    mut counts: Option<RowCounts>,
    emptied: &Receiver<Vec<Event>>,
    full: &SyncSender<Batch>,
) -> Result<(), TraceError> {
    for mut events in emptied {
        reader.fill(&mut events, EVENTS)?;
        let now = reader.tables().row_counts();
        let rows = match counts {
            Some(known) if known != now => Some(reader.tables().rows_after(known)),
            _ => None,
        };
        counts = counts.map(|_| now);
        if events.is_empty() || full.send((events, rows)).is_err() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{self, Cursor, Read};

    use trace::{Action, Reader};

    use super::*;

    /// More batches than are on their way at once.
    fn text() -> Vec<u8> {
        let lines = (0..EVENTS * (BATCHES + 3) + 7).map(|line| format!("t{}|w(x{})|{line}\n", line % 3, line % 1000));
        lines.collect::<String>().into_bytes()
    }

    #[test]
    fn all_events_come_in_order() {
        let text = text();
        let mut plain = Vec::new();
        let mut batch = Vec::new();
        let mut reader = Reader::new(&text[..]).expect("a trace");
        while reader.next(&mut batch).is_ok() && !batch.is_empty() {
            plain.extend_from_slice(&batch);
        }
        let mut fed = Vec::new();
        let mut reader = Reader::new(&text[..]).expect("a trace");
        feed(&mut reader, |events| fed.extend_from_slice(events)).expect("no error");
        assert!(plain.len() > EVENTS * BATCHES);
        assert_eq!(fed, plain);
    }

    #[test]
    fn tables_come_with_the_events_that_need_them() {
        let text = text();
        let mut reader = Reader::new(&text[..]).expect("a trace");
        let mut names = Vec::new();
        feed_with_tables(&mut reader, |events, tables| {
            for event in events {
                if let Action::Write { variable } = event.action {
                    names.push((tables.thread_name(event.thread), tables.variable_name(variable)));
                }
            }
        })
        .expect("no error");
        let expected = (0..names.len()).map(|line| (format!("t{}", line % 3), format!("x{}", line % 1000)));
        assert_eq!(names, expected.collect::<Vec<_>>());
        assert!(names.len() > EVENTS * BATCHES);
    }

    #[test]
    fn an_error_ends_it_after_what_was_read() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("broken"))
            }
        }
        let mut reader = Reader::new(Cursor::new(text()).chain(Broken)).expect("a trace");
        let mut count = 0;
        assert!(feed(&mut reader, |events| count += events.len()).is_err());
        assert!(count >= EVENTS);
    }

    #[test]
    fn a_panic_of_the_taker_is_no_hang() {
        let mut reader = Reader::new(Cursor::new(text())).expect("a trace");
        let taker = std::panic::AssertUnwindSafe(|| feed(&mut reader, |_| panic!("as planned")));
        assert!(std::panic::catch_unwind(taker).is_err());
    }
}
