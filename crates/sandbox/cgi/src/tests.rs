//! What programs are told, and what they say.

mod answer;
mod request;
