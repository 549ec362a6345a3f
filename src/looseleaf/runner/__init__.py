"""Running and scoring: resumable stages over a RUN folder."""
