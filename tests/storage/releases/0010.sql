BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0010');
CREATE TABLE calls (
	"key" TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	request TEXT, 
	channel TEXT NOT NULL, 
	ts TEXT NOT NULL, 
	raised DATETIME NOT NULL, 
	level INTEGER NOT NULL, 
	due DATETIME, 
	acknowledged_by TEXT, 
	acknowledged_at DATETIME, 
	CONSTRAINT pk_calls PRIMARY KEY ("key")
);
CREATE TABLE counters (
	name TEXT NOT NULL, 
	value INTEGER NOT NULL, 
	CONSTRAINT pk_counters PRIMARY KEY (name)
);
INSERT INTO "counters" VALUES('fence',7);
INSERT INTO "counters" VALUES('request',1001);
CREATE TABLE estimates (
	request TEXT NOT NULL, 
	pool TEXT NOT NULL, 
	at DATETIME NOT NULL, 
	low DATETIME, 
	likely DATETIME, 
	high DATETIME, 
	basis TEXT NOT NULL, 
	started DATETIME, 
	CONSTRAINT pk_estimates PRIMARY KEY (request), 
	CONSTRAINT fk_estimates_request FOREIGN KEY(request) REFERENCES requests (id)
);
CREATE TABLE events (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	kind TEXT NOT NULL, 
	request TEXT NOT NULL, 
	actor TEXT NOT NULL, 
	at DATETIME NOT NULL, 
	handled DATETIME, args TEXT, 
	CONSTRAINT fk_events_request FOREIGN KEY(request) REFERENCES requests (id)
);
INSERT INTO "events" VALUES(1,'submit','R-1001','U1','2026-03-01 12:00:00.123456',NULL,NULL);
CREATE TABLE gauges (
	at DATETIME NOT NULL, 
	gpus INTEGER NOT NULL, 
	used INTEGER NOT NULL, 
	stranded INTEGER NOT NULL, 
	nodes INTEGER NOT NULL, 
	whole_free_nodes INTEGER NOT NULL, 
	running INTEGER NOT NULL, 
	pending INTEGER NOT NULL, 
	pending_gpus INTEGER NOT NULL, 
	CONSTRAINT pk_gauges PRIMARY KEY (at)
);
CREATE TABLE grants (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	decision TEXT NOT NULL, 
	request TEXT NOT NULL, 
	source TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	team TEXT NOT NULL, 
	pool TEXT NOT NULL, 
	queue TEXT NOT NULL, 
	flavor TEXT NOT NULL, 
	spend TEXT NOT NULL, 
	gpus INTEGER NOT NULL, 
	waited FLOAT NOT NULL, 
	begun DATETIME NOT NULL, 
	ended DATETIME, 
	outcome TEXT
);
CREATE TABLE identity (
	id TEXT NOT NULL, 
	CONSTRAINT pk_identity PRIMARY KEY (id)
);
INSERT INTO "identity" VALUES('fe424f0cd323');
CREATE TABLE inbox (
	"key" TEXT NOT NULL, 
	at DATETIME NOT NULL, 
	answer TEXT, 
	CONSTRAINT pk_inbox PRIMARY KEY ("key")
);
INSERT INTO "inbox" VALUES('Ev1','2026-03-01 12:00:00.123456','{"request":"R-1001"}');
CREATE TABLE interventions (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	kind TEXT NOT NULL, 
	target TEXT NOT NULL, 
	actor TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	at DATETIME NOT NULL, 
	until DATETIME, 
	wish TEXT NOT NULL, 
	state TEXT NOT NULL, 
	"before" TEXT NOT NULL, 
	"after" TEXT NOT NULL, 
	ended DATETIME, 
	ended_by TEXT
);
CREATE TABLE outbox (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	"key" TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	audience TEXT NOT NULL, 
	request TEXT, 
	target TEXT, 
	args TEXT NOT NULL, 
	urgent INTEGER NOT NULL, 
	state TEXT NOT NULL, 
	revision INTEGER NOT NULL, 
	attempts INTEGER NOT NULL, 
	created DATETIME NOT NULL, 
	due DATETIME NOT NULL, 
	leased_until DATETIME, 
	sent DATETIME, 
	channel TEXT, 
	ts TEXT, 
	error TEXT, 
	CONSTRAINT fk_outbox_request FOREIGN KEY(request) REFERENCES requests (id)
);
INSERT INTO "outbox" VALUES(1,'card:R-1001','admitted','card','R-1001',NULL,'{"n":1}',0,'pending',1,0,'2026-03-01 12:00:00.123456','2026-03-01 12:00:00.123456',NULL,NULL,NULL,NULL,NULL);
CREATE TABLE people (
	id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	teams TEXT NOT NULL, 
	role TEXT NOT NULL, 
	CONSTRAINT pk_people PRIMARY KEY (id)
);
INSERT INTO "people" VALUES('U1','Ada','["nlp"]','lead');
CREATE TABLE requests (
	id TEXT NOT NULL, 
	number INTEGER NOT NULL, 
	state TEXT NOT NULL, 
	source TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	team TEXT NOT NULL, 
	queue TEXT NOT NULL, 
	text TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	changed DATETIME NOT NULL, 
	attempt INTEGER NOT NULL, 
	workload TEXT NOT NULL, 
	admission TEXT, 
	started DATETIME, 
	lease_ends DATETIME, 
	ending TEXT, 
	ended_by TEXT, 
	run_for FLOAT, 
	starving_since DATETIME, 
	channel TEXT, 
	thread_ts TEXT, recipe TEXT, ref TEXT, ref_uid TEXT, family TEXT, head TEXT, kept TEXT, 
	CONSTRAINT pk_requests PRIMARY KEY (id)
);
INSERT INTO "requests" VALUES('R-1001',1001,'admitted','chat','U1','nlp','nlp-jobs','16 h100 8h','2026-03-01 12:00:00.123456','2026-03-01 12:01:00.123456',1,'{"id":"R-1001","team":"nlp","owner":"U1","queue":"nlp-jobs","overflow":[],"priority_class":"medium","priority":0,"created":1772366400.123456,"pod_sets":[{"name":"main","count":2,"requests":{"nvidia.com/gpu":8},"min_count":null,"node_selector":{},"affinity":[],"tolerations":[],"topology":null}],"preemptible":false,"duration":null,"name":"","queued":null,"raised":0,"asked_class":null,"lapsed":null,"barred":false,"rest":null,"replica":0}','{"workload":"R-1001","queue":"nlp-jobs","assignments":[{"name":"main","count":2,"flavors":{"nvidia.com/gpu":"h100-reserved"},"nodes":[["node-1",1],["node-2",1]]}],"at":1772366460.123456,"borrowing":false,"repairs":0}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE settings (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	author TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	until DATETIME, 
	CONSTRAINT pk_settings PRIMARY KEY (name)
);
INSERT INTO "settings" VALUES('pause:q','on','U1','','2026-03-01 12:01:00.123456');
CREATE TABLE transitions (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	request TEXT NOT NULL, 
	"before" TEXT, 
	"after" TEXT NOT NULL, 
	at DATETIME NOT NULL, 
	actor TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	decision TEXT, 
	details TEXT NOT NULL, 
	CONSTRAINT fk_transitions_request FOREIGN KEY(request) REFERENCES requests (id)
);
INSERT INTO "transitions" VALUES(1,'R-1001',NULL,'waiting','2026-03-01 12:00:00.123456','U1','submitted',NULL,'{}');
INSERT INTO "transitions" VALUES(2,'R-1001','waiting','admitted','2026-03-01 12:01:00.123456','engine','admitted','R-1001/1','{}');
CREATE TABLE usage (
	team TEXT NOT NULL, 
	chip_hours FLOAT NOT NULL, 
	at DATETIME NOT NULL, 
	CONSTRAINT pk_usage PRIMARY KEY (team)
);
INSERT INTO "usage" VALUES('nlp',1.5,'2026-03-01 12:00:00.123456');
CREATE UNIQUE INDEX ix_requests_number ON requests (number);
CREATE INDEX ix_requests_state_number ON requests (state, number);
CREATE INDEX ix_requests_owner_number ON requests (owner, number);
CREATE INDEX ix_requests_team_number ON requests (team, number);
CREATE INDEX ix_requests_queue_number ON requests (queue, number);
CREATE INDEX ix_transitions_request_id ON transitions (request, id);
CREATE INDEX ix_events_handled_id ON events (handled, id);
CREATE UNIQUE INDEX ix_outbox_key ON outbox ("key");
CREATE INDEX ix_outbox_state_due ON outbox (state, due);
CREATE INDEX ix_outbox_request_id ON outbox (request, id);
CREATE INDEX ix_inbox_at ON inbox (at);
CREATE INDEX ix_grants_decision ON grants (decision);
CREATE INDEX ix_grants_request ON grants (request);
CREATE INDEX ix_grants_ended ON grants (ended);
CREATE INDEX ix_grants_begun ON grants (begun);
CREATE INDEX ix_estimates_started ON estimates (started);
CREATE INDEX ix_interventions_state ON interventions (state);
CREATE INDEX ix_interventions_at ON interventions (at);
CREATE INDEX ix_calls_due ON calls (due);
CREATE INDEX ix_calls_channel_ts ON calls (channel, ts);
CREATE INDEX ix_requests_ref_uid ON requests (ref_uid);
CREATE INDEX ix_requests_family_number ON requests (family, number);
CREATE INDEX ix_requests_head_number ON requests (head, number);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('events',1);
INSERT INTO "sqlite_sequence" VALUES('transitions',2);
INSERT INTO "sqlite_sequence" VALUES('outbox',1);
COMMIT;
