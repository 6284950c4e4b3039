-- The tables of version 0.1, as its server made them in SQLite.
CREATE TABLE articles ( id VARCHAR(120) NOT NULL, state VARCHAR(10) NOT NULL, revision BIGINT NOT NULL, model
  VARCHAR(80) NOT NULL, title TEXT NOT NULL, abstract TEXT NOT NULL, category TEXT NOT NULL, published BIGINT NOT
  NULL, first_shown BIGINT NOT NULL, shows BIGINT NOT NULL, topic INTEGER NOT NULL, lasting FLOAT NOT NULL, scores
  BLOB NOT NULL, coordinates BLOB NOT NULL, PRIMARY KEY (id), UNIQUE (revision) );
CREATE TABLE counters ( name VARCHAR(80) NOT NULL, value BIGINT, PRIMARY KEY (name) );
CREATE TABLE pending ( number INTEGER NOT NULL, id VARCHAR(120) NOT NULL, title TEXT NOT NULL, abstract TEXT NOT NULL,
  category TEXT NOT NULL, published BIGINT NOT NULL, first_shown BIGINT NOT NULL, shows BIGINT NOT NULL, PRIMARY KEY
  (number), UNIQUE (id) );
CREATE TABLE reports ( number INTEGER NOT NULL, id VARCHAR(32) NOT NULL, kind VARCHAR(10) NOT NULL, digest BLOB NOT
  NULL, version VARCHAR(80) NOT NULL, epoch BIGINT NOT NULL, device VARCHAR(64), clicks INTEGER, slate VARCHAR(32),
  articles TEXT, release BLOB NOT NULL, PRIMARY KEY (number), UNIQUE (id), UNIQUE (slate) );
CREATE UNIQUE INDEX one_sketch_of_a_device_and_epoch ON reports (device, epoch);
CREATE TABLE settings ( name VARCHAR(80) NOT NULL, value TEXT, PRIMARY KEY (name) );
