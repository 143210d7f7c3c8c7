//! The texts in actions and in a task's record that the guard processes.

use transcripts::{Action, FileAccess};

use super::Redact;
use crate::memory::{Citation, TaskRecord};

impl Redact for Action {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        self.command.edit_texts(edit);
        self.folder.edit_texts(edit);
        for file in &mut self.files {
            edit(&mut file.path);
            if let FileAccess::Renamed(to) = &mut file.access {
                edit(to);
            }
        }
        self.names.edit_texts(edit);
    }
}

impl Redact for Citation {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        edit(&mut self.text);
    }
}

impl Redact for TaskRecord {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        edit(&mut self.goal);
        edit(&mut self.reason);
        for text in [&mut self.folder, &mut self.branch] {
            text.edit_texts(edit);
        }
        self.report.edit_texts(edit);
        self.remarks.edit_texts(edit);
        self.commits.edit_texts(edit);
        self.pull_requests.edit_texts(edit);
        self.symbols.edit_texts(edit);
        for file in &mut self.files {
            edit(&mut file.path);
            file.renamed_to.edit_texts(edit);
        }
        for command in &mut self.commands {
            edit(&mut command.command);
            command.signature.edit_texts(edit);
            command.folder.edit_texts(edit);
        }
        for error in &mut self.errors {
            for text in [&mut error.signature, &mut error.line, &mut error.command] {
                edit(text);
            }
            if let Some(cleared) = &mut error.cleared {
                edit(&mut cleared.command);
                cleared.files.edit_texts(edit);
                cleared.commands.edit_texts(edit);
            }
        }
        for test in &mut self.tests {
            edit(&mut test.command);
            test.summary.edit_texts(edit);
        }
    }
}
