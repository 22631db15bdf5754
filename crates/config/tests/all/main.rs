//! Text in, configuration or mistakes out.

mod any_text;
mod common;
mod examples;
mod general;
mod generated;
mod hostile;
mod kubernetes;
mod mistakes;
mod polars;
mod ray_files;
