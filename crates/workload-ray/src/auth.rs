//! The token of a Ray cluster with `RAY_AUTH_MODE=token`: where it is found, and how it is kept out of sight.

use crate::error::{denied, permanent};
use ostler_workload::WorkloadError;
use std::path::{Path, PathBuf};
use std::{fmt, io};
use tonic::metadata::{Ascii, MetadataValue};

/// A token is a line of text; anything longer is some other file.
const LENGTH_MAX: usize = 4096;

/// A secret. It has no `Display`, and its `Debug` says nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A token from its text; blanks around it are dropped.
    pub fn new(text: &str) -> Result<Self, WorkloadError> {
        let text = text.trim();
        let good = !text.is_empty() && text.len() <= LENGTH_MAX && text.bytes().all(|b| b.is_ascii_graphic());
        if good { Ok(Self(text.to_owned())) } else { Err(permanent("ray.auth.malformed", MALFORMED)) }
    }

    /// The value of the `authorization` header.
    pub(crate) fn header(&self) -> Result<MetadataValue<Ascii>, WorkloadError> {
        let mut value: MetadataValue<Ascii> =
            format!("Bearer {}", self.0).parse().map_err(|_| permanent("ray.auth.malformed", MALFORMED))?;
        value.set_sensitive(true);
        Ok(value)
    }
}

const MALFORMED: &str = "the authentication token is not one line of printable ASCII; check the token file";

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Where the token comes from. It is looked up anew for each connection, so a token that was replaced is found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum TokenSource {
    /// As Ray's own processes find it: `RAY_AUTH_TOKEN`, the file `RAY_AUTH_TOKEN_PATH`, `~/.ray/auth_token`;
    /// none of them is needed unless `RAY_AUTH_MODE=token`, and `RAY_AUTH_MODE=disabled` looks at none.
    #[default]
    Environment,
    /// This file.
    File(PathBuf),
    /// This text.
    Given(Token),
    /// There is none.
    Nowhere,
}

impl TokenSource {
    /// The token, if there is one, from this process's environment and files.
    pub fn find(&self) -> Result<Option<Token>, WorkloadError> {
        self.find_in(&|name| std::env::var(name).ok(), &|path| std::fs::read_to_string(path))
    }

    fn find_in(&self, env: Environment<'_>, read: Read<'_>) -> Result<Option<Token>, WorkloadError> {
        match self {
            Self::Nowhere => Ok(None),
            Self::Given(token) => Ok(Some(token.clone())),
            Self::File(path) => from_file(path, read).map(Some),
            Self::Environment => from_environment(env, read),
        }
    }
}

type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;
type Read<'a> = &'a dyn Fn(&Path) -> io::Result<String>;

fn from_environment(env: Environment<'_>, read: Read<'_>) -> Result<Option<Token>, WorkloadError> {
    let mode = env("RAY_AUTH_MODE").unwrap_or_default();
    if mode.eq_ignore_ascii_case("disabled") {
        return Ok(None);
    }
    if let Some(text) = env("RAY_AUTH_TOKEN").filter(|text| !text.trim().is_empty()) {
        return Token::new(&text).map(Some);
    }
    if let Some(path) = env("RAY_AUTH_TOKEN_PATH").filter(|path| !path.is_empty()) {
        return from_file(Path::new(&path), read).map(Some);
    }
    match env("HOME").map(|home| Path::new(&home).join(".ray/auth_token")).map(|path| read(&path)) {
        Some(Ok(text)) if !text.trim().is_empty() => Token::new(&text).map(Some),
        _ if mode.eq_ignore_ascii_case("token") => Err(denied("ray.auth.missing", MISSING)),
        _ => Ok(None),
    }
}

const MISSING: &str = "RAY_AUTH_MODE=token, but there is no token: set RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH, \
                       or put it into ~/.ray/auth_token";

fn from_file(path: &Path, read: Read<'_>) -> Result<Token, WorkloadError> {
    let text = read(path).map_err(|error| {
        denied("ray.auth.unreadable", format!("the token file {} cannot be read: {error}", path.display()))
    })?;
    Token::new(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Environment and files as text → what is found, as `Ok(Some("…"))` or the code of the error.
    fn check(env: &[(&str, &str)], files: &[(&str, &str)], expected: &str) {
        let (env, files): (BTreeMap<_, _>, BTreeMap<_, _>) =
            (env.iter().copied().collect(), files.iter().copied().collect());
        let read = |path: &Path| match files.get(path.to_str().unwrap_or_default()) {
            Some(text) => Ok((*text).to_owned()),
            None => Err(io::ErrorKind::NotFound.into()),
        };
        let found = TokenSource::Environment.find_in(&|name| env.get(name).map(|v| (*v).to_owned()), &read);
        let found = match found {
            Ok(token) => token.map_or("none".to_owned(), |t| t.0),
            Err(error) => error.code.to_owned(),
        };
        assert_eq!(found, expected, "{env:?} {files:?}");
    }

    #[test]
    fn the_token_is_found_where_ray_finds_it() {
        let home = ("HOME", "/h");
        let file = ("/h/.ray/auth_token", "from-home\n");
        check(&[], &[], "none");
        check(&[home], &[], "none");
        check(&[home], &[file], "from-home");
        check(&[home, ("RAY_AUTH_MODE", "disabled")], &[file], "none");
        check(&[home, ("RAY_AUTH_MODE", "token")], &[], "ray.auth.missing");
        check(&[home, ("RAY_AUTH_TOKEN", " env ")], &[file], "env");
        check(&[home, ("RAY_AUTH_TOKEN_PATH", "/t")], &[file, ("/t", "path")], "path");
        check(&[home, ("RAY_AUTH_TOKEN_PATH", "/t")], &[file], "ray.auth.unreadable");
        check(&[("RAY_AUTH_TOKEN", "two lines\nhere")], &[], "ray.auth.malformed");
    }

    #[test]
    fn nobody_sees_the_token() {
        let token = Token::new("s3cret").expect("a good token");
        let header = token.header().expect("a good header");
        assert!(!format!("{token:?} {header:?} {:?}", TokenSource::Given(token.clone())).contains("s3cret"));
    }
}
