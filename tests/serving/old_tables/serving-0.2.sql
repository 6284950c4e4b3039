-- The tables of version 0.2.
CREATE TABLE articles ( id VARCHAR(120) NOT NULL, state VARCHAR(10) NOT NULL, revision BIGINT NOT NULL, model
  VARCHAR(80) NOT NULL, title TEXT NOT NULL, abstract TEXT NOT NULL, category TEXT NOT NULL, published BIGINT NOT
  NULL, first_shown BIGINT NOT NULL, shows BIGINT NOT NULL, topic INTEGER NOT NULL, lasting FLOAT NOT NULL, scores
  BLOB NOT NULL, coordinates BLOB NOT NULL, url TEXT DEFAULT '' NOT NULL, image TEXT DEFAULT '' NOT NULL, section TEXT
  DEFAULT '' NOT NULL, PRIMARY KEY (id), UNIQUE (revision) );
CREATE TABLE counters ( name VARCHAR(80) NOT NULL, value BIGINT, PRIMARY KEY (name) );
CREATE TABLE pending ( number INTEGER NOT NULL, id VARCHAR(120) NOT NULL, title TEXT NOT NULL, abstract TEXT NOT NULL,
  category TEXT NOT NULL, published BIGINT NOT NULL, first_shown BIGINT NOT NULL, shows BIGINT NOT NULL, url TEXT
  DEFAULT '' NOT NULL, image TEXT DEFAULT '' NOT NULL, section TEXT DEFAULT '' NOT NULL, PRIMARY KEY (number), UNIQUE
  (id) );
CREATE TABLE reports ( number INTEGER NOT NULL, id VARCHAR(32) NOT NULL, kind VARCHAR(10) NOT NULL, digest BLOB NOT
  NULL, version VARCHAR(80) NOT NULL, epoch BIGINT NOT NULL, device VARCHAR(64), clicks INTEGER, slate VARCHAR(32),
  articles TEXT, release BLOB NOT NULL, received BIGINT DEFAULT '0' NOT NULL, PRIMARY KEY (number), UNIQUE (id),
  UNIQUE (slate) );
CREATE UNIQUE INDEX one_sketch_of_a_device_and_epoch ON reports (device, epoch);
CREATE INDEX reports_by_arrival ON reports (received);
CREATE TABLE settings ( name VARCHAR(80) NOT NULL, value TEXT, PRIMARY KEY (name) );
CREATE TABLE sums ( version VARCHAR(80) NOT NULL, article VARCHAR(120) NOT NULL, weight FLOAT NOT NULL, value FLOAT
  NOT NULL, changed BIGINT NOT NULL, PRIMARY KEY (version, article) );
