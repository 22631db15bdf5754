//! What comes from outside the file: environment variables, the command line, and default places.

use crate::configuration::{Overrides, RayAuth};
use crate::mistake::{Code, Notes};
use crate::read::Section;
use crate::value::address;
use ostler_model::Millis;
use std::path::{Path, PathBuf};

const DEFAULT_GCS: &str = "127.0.0.1:6379";

/// The world around a file.
pub(crate) struct Host<'a> {
    pub(crate) env: &'a dyn Fn(&str) -> Option<String>,
    pub(crate) file: &'a Path,
    pub(crate) overrides: &'a Overrides,
}

impl Host<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        (self.env)(name).filter(|value| !value.is_empty())
    }

    /// A path of the file, relative to the file's directory.
    pub(crate) fn path(&self, text: &str) -> PathBuf {
        match text.strip_prefix("~/").zip(self.variable("HOME")) {
            Some((rest, home)) => Path::new(&home).join(rest),
            None => self.file.parent().unwrap_or(Path::new("")).join(text),
        }
    }

    /// The store of a configuration of this name, if nobody says another.
    pub(crate) fn default_store(&self, name: &str) -> PathBuf {
        let home = || self.variable("HOME").map(|home| Path::new(&home).join(".local/state"));
        let state = self.variable("XDG_STATE_HOME").map(PathBuf::from).or_else(home);
        state.unwrap_or_else(|| "/var/lib".into()).join("ostler").join(format!("{name}.db"))
    }

    /// A whole number as Ray's autoscaler reads it: `inf` is the largest. `None` if it is not set or is wrong.
    pub(crate) fn whole(&self, notes: &Notes<'_>, name: &str) -> Option<i64> {
        let text = self.variable(name)?;
        if text == "inf" {
            return Some(i64::MAX);
        }
        let number = text.trim().parse().ok();
        if number.is_none() {
            let message = format!("`{name}` is `{text}`, expected a whole number or `inf`");
            notes.outside("environment", Code::BadVariable, message, "set it right, or unset it");
        }
        number
    }

    /// The same, of at least `least`.
    pub(crate) fn at_least(&self, notes: &Notes<'_>, name: &str, least: i64) -> Option<u64> {
        let number = self.whole(notes, name)?;
        if number < least {
            let message = format!("`{name}` is {number}, expected {least} or more");
            notes.outside("environment", Code::BadVariable, message, "set it right, or unset it");
        }
        u64::try_from(number).ok()
    }

    /// Seconds; at most a hundred years, so that sums never overflow.
    pub(crate) fn seconds(&self, notes: &Notes<'_>, name: &str, least: i64) -> Option<Millis> {
        Some(Millis::secs(self.at_least(notes, name, least)?.min(3_200_000_000)))
    }

    /// The GCS: command line, file, `RAY_ADDRESS`, Ray's own port on this host.
    pub(crate) fn gcs(&self, notes: &Notes<'_>, in_file: Option<String>) -> String {
        if let Some(text) = &self.overrides.address {
            self.check_address(notes, "command line", "--address", text);
            return text.clone();
        }
        in_file.unwrap_or_else(|| match self.variable("RAY_ADDRESS") {
            Some(text) if text != "auto" => {
                self.check_address(notes, "environment", "RAY_ADDRESS", &text);
                text
            }
            _ => DEFAULT_GCS.to_owned(),
        })
    }

    fn check_address(&self, notes: &Notes<'_>, source: &str, name: &str, text: &str) {
        let code = if source == "environment" { Code::BadVariable } else { Code::BadForm };
        let hint = "give `HOST:PORT` of the GCS, such as `127.0.0.1:6379`";
        if text.starts_with("ray://") {
            let message = format!("`{name}` is `{text}`, an address for Ray clients and not of the GCS");
            notes.outside(source, code, message, hint);
        } else if address(text).is_err() {
            notes.outside(source, code, format!("`{name}` is `{text}`, which is no address"), hint);
        }
    }

    /// Where the token for Ray is, by the file's `auth` section and then as Ray itself looks for it.
    pub(crate) fn auth(&self, notes: &Notes<'_>, section: &Section<'_, '_>) -> RayAuth {
        let mode: String = section.need("mode");
        let file: Option<String> = section.get("token_file");
        let must = match (mode.as_str(), self.variable("RAY_AUTH_MODE").as_deref()) {
            ("none", _) => return RayAuth::None,
            ("token", _) | (_, Some("token")) => true,
            (_, None) => false,
            (_, Some("disabled")) => return RayAuth::None,
            (_, Some(other)) => {
                let message = format!("`RAY_AUTH_MODE` is `{other}`, expected `token` or `disabled`");
                notes.outside("environment", Code::BadVariable, message, "set it right, or say `auth.mode`");
                false
            }
        };
        match (file, self.variable("RAY_AUTH_TOKEN"), self.variable("RAY_AUTH_TOKEN_PATH")) {
            (Some(path), ..) => RayAuth::File(self.path(&path)),
            (None, Some(_), _) => RayAuth::Variable("RAY_AUTH_TOKEN".to_owned()),
            (None, None, Some(path)) => RayAuth::File(path.into()),
            (None, None, None) => match (self.variable("HOME"), must) {
                (Some(home), true) => RayAuth::File(Path::new(&home).join(".ray/auth_token")),
                (Some(home), false) => RayAuth::FileIfThere(Path::new(&home).join(".ray/auth_token")),
                (None, false) => RayAuth::None,
                (None, true) => {
                    let message = "a token is asked for, and nothing says where it is".to_owned();
                    notes.outside("environment", Code::MissingKey, message, "set `RAY_AUTH_TOKEN_PATH`");
                    RayAuth::None
                }
            },
        }
    }
}
