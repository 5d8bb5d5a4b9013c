-- Conversations: what people and platforms wrote to ralph, what ralph answered, and which workflow runs they started.
CREATE TABLE conversation_messages (
    conversation TEXT NOT NULL,
    seq          BIGINT NOT NULL,
    at           BIGINT NOT NULL,
    -- Who wrote it; NULL: ralph.
    author       TEXT,
    words        TEXT NOT NULL,
    run          TEXT,
    is_critical  BIGINT NOT NULL DEFAULT 0,
    -- waiting, sent or lost; NULL: nothing is sent, readers fetch it.
    delivery     TEXT,
    PRIMARY KEY (conversation, seq)
);

CREATE TABLE conversation_runs (
    run          TEXT NOT NULL PRIMARY KEY,
    conversation TEXT NOT NULL,
    -- The events of its journal that the conversation has got.
    shown_events BIGINT NOT NULL DEFAULT 0,
    at           BIGINT NOT NULL
);

-- The requests of platforms that were accepted: a platform repeats those that are answered late.
CREATE TABLE platform_events (
    platform TEXT NOT NULL,
    event    TEXT NOT NULL,
    at       BIGINT NOT NULL,
    PRIMARY KEY (platform, event)
);

CREATE INDEX conversation_messages_waiting ON conversation_messages (conversation, seq) WHERE delivery = 'waiting';
CREATE INDEX conversation_runs_by_conversation ON conversation_runs (conversation, at);
