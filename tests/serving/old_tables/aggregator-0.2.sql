-- The tables of an aggregator of version 0.2.
CREATE TABLE dap_tasks ( number INTEGER NOT NULL, id BLOB NOT NULL, forgotten BIGINT NOT NULL, PRIMARY KEY (number),
  UNIQUE (id) );
CREATE TABLE dap_answers ( task INTEGER NOT NULL, id BLOB NOT NULL, kind VARCHAR(20) NOT NULL, time BIGINT NOT NULL,
  body BLOB NOT NULL, PRIMARY KEY (task, id, kind), FOREIGN KEY(task) REFERENCES dap_tasks (number) );
CREATE TABLE dap_buckets ( task INTEGER NOT NULL, time BIGINT NOT NULL, share BLOB NOT NULL, reports BIGINT NOT NULL,
  checksum BLOB NOT NULL, PRIMARY KEY (task, time), FOREIGN KEY(task) REFERENCES dap_tasks (number) );
CREATE TABLE dap_collected ( task INTEGER NOT NULL, start BIGINT NOT NULL, "end" BIGINT NOT NULL, PRIMARY KEY (task,
  start), FOREIGN KEY(task) REFERENCES dap_tasks (number) );
CREATE TABLE dap_collections ( task INTEGER NOT NULL, id BLOB NOT NULL, start BIGINT NOT NULL, "end" BIGINT NOT NULL,
  request BLOB NOT NULL, "interval" BLOB, share_request BLOB, share BLOB, problem VARCHAR(80), answer BLOB, PRIMARY
  KEY (task, id), FOREIGN KEY(task) REFERENCES dap_tasks (number) );
CREATE TABLE dap_jobs ( number INTEGER NOT NULL, task INTEGER NOT NULL, request BLOB, PRIMARY KEY (number), FOREIGN
  KEY(task) REFERENCES dap_tasks (number) );
CREATE TABLE dap_reports ( number INTEGER NOT NULL, task INTEGER NOT NULL, time BIGINT NOT NULL, job BIGINT, report
  BLOB NOT NULL, PRIMARY KEY (number), FOREIGN KEY(task) REFERENCES dap_tasks (number) );
CREATE INDEX dap_reports_by_job ON dap_reports (task, job, number);
CREATE TABLE dap_seen ( task INTEGER NOT NULL, time BIGINT NOT NULL, report_id BLOB NOT NULL, PRIMARY KEY (task, time,
  report_id), FOREIGN KEY(task) REFERENCES dap_tasks (number) ) WITHOUT ROWID;
