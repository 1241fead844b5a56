//! The words and the exit codes of stop reasons (R20).

use crate::review::summary::StopReason;

impl StopReason {
    /// Returns the exit code of the contract (R20); `person` marks a wait that only a person can end.
    pub fn exit_code(self, person: bool) -> u8 {
        match self {
            Self::Settled | Self::Merged | Self::Closed => 0,
            Self::WaitingReviewer | Self::WaitingCi if person => 14,
            Self::WaitingReviewer | Self::WaitingCi => 12,
            Self::ChecksRed | Self::NotMergeable => 15,
            Self::TestsRed => 13,
            Self::NoProgress
            | Self::RepeatingRegion
            | Self::Contested
            | Self::Budget
            | Self::NeedsPerson
            | Self::RejectedRound
            | Self::PushRefused
            | Self::HeadMoved => 14,
            Self::EditorUnavailable => 22,
            Self::CouldNotRead => 20,
            Self::Permission => 21,
            Self::Interrupted => 130,
        }
    }

    /// Returns the word used in every format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Settled => "settled",
            Self::Merged => "merged",
            Self::Closed => "closed",
            Self::WaitingReviewer => "waiting_reviewer",
            Self::WaitingCi => "waiting_ci",
            Self::ChecksRed => "checks_red",
            Self::NotMergeable => "not_mergeable",
            Self::TestsRed => "tests_red",
            Self::NoProgress => "no_progress",
            Self::RepeatingRegion => "repeating_region",
            Self::Contested => "contested",
            Self::Budget => "budget",
            Self::NeedsPerson => "needs_person",
            Self::RejectedRound => "rejected_round",
            Self::PushRefused => "push_refused",
            Self::HeadMoved => "head_moved",
            Self::EditorUnavailable => "editor_unavailable",
            Self::CouldNotRead => "could_not_read",
            Self::Permission => "permission",
            Self::Interrupted => "interrupted",
        }
    }
}
