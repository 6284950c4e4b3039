/** What a device accepts: a copy of `protocol/schema.json`, which a test keeps equal. `docs/reference/protocol.md` has the words. */

export const SCHEMA = {
  "api": 3,
  "limits": {
    "max_answer_bytes": 33554432,
    "max_pages": 20000,
    "max_articles": 500000,
    "max_sketches": 128,
    "max_clicks": 1000,
    "max_clicks_in_all": 2000,
    "max_slate": 500,
    "max_epsilon": 10.0,
    "min_epsilon": 0.001,
    "min_epoch_seconds": 86400,
    "max_epoch_seconds": 31536000,
    "min_slate_articles": 10,
    "min_topic_articles": 3,
    "max_reports": 1000,
    "max_tasks": 20,
    "max_task_names": 100000,
    "max_task_length": 20000,
    "max_task_delta": 0.000001,
    "max_window_epsilon": 1.0,
    "max_day_epsilon": 1.0,
    "max_life_epsilon": 10.0,
    "min_window_seconds": 300,
    "min_send_seconds": 60
  },
  "tracking": {
    "names": [
      "_ga", "_gl", "_hsenc", "_hsmi", "cmpid", "dclid", "fbclid", "gbraid", "gclid", "gclsrc", "igsh", "igshid",
      "li_fat_id", "mc_cid", "mc_eid", "mkt_tok", "msclkid", "ocid", "oly_anon_id", "oly_enc_id", "ref_src", "ref_url",
      "s_cid", "smid", "srsltid", "ttclid", "twclid", "vero_conv", "vero_id", "wbraid", "wickedid", "xtor", "yclid"
    ],
    "prefixes": ["at_", "hsa_", "matomo_", "mtm_", "pk_", "piwik_", "utm_"]
  },
  "model": {
    "type": "object",
    "properties": {
      "api": {"type": "integer", "minimum": 3, "maximum": 3},
      "model": {"type": "string", "minLength": 1, "maxLength": 80},
      "space": {"type": "string", "minLength": 1, "maxLength": 80},
      "topics": {"type": "integer", "minimum": 2, "maximum": 1024},
      "epsilon": {
        "type": "object",
        "properties": {
          "sketch": {"type": "number", "minimum": 0, "maximum": 10},
          "label": {"type": "number", "minimum": 0, "maximum": 10},
          "lifetime": {"type": "number", "minimum": 0, "maximum": 10}
        },
        "required": ["sketch", "label", "lifetime"]
      },
      "unit": {"type": "string", "enum": ["click"]},
      "adjacency": {"type": "string", "enum": ["substitute", "add/remove"]},
      "schedule": {
        "type": "object",
        "properties": {
          "start": {"type": "string", "pattern": "^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\+00:00$", "maxLength": 25},
          "length_seconds": {"type": "integer", "minimum": 86400, "maximum": 31536000}
        },
        "required": ["start", "length_seconds"]
      },
      "ranking": {"type": "string", "enum": ["local", "shortlist", "server"]},
      "shortlist_size": {"type": "integer", "minimum": 1, "maximum": 500},
      "diversity": {"type": "number", "minimum": 0, "maximum": 1},
      "weights": {
        "type": "object",
        "properties": {
          "interest": {"type": "number", "minimum": -1000000, "maximum": 1000000},
          "mean": {"type": "number", "minimum": -1000000, "maximum": 1000000},
          "nearest": {"type": "number", "minimum": -1000000, "maximum": 1000000},
          "category": {"type": "number", "minimum": -1000000, "maximum": 1000000},
          "subcategory": {"type": "number", "minimum": -1000000, "maximum": 1000000},
          "recency": {"type": "number", "minimum": -1000000, "maximum": 1000000},
          "popularity": {"type": "number", "minimum": -1000000, "maximum": 1000000},
          "head": {"type": "number", "minimum": -1000000, "maximum": 1000000}
        },
        "required": ["interest", "mean", "nearest", "category"]
      },
      "vectors": {
        "type": "object",
        "properties": {
          "dimension": {"type": "integer", "minimum": 1, "maximum": 1024},
          "scale": {"type": "number", "minimum": 1e-12, "maximum": 1000000},
          "unit": {"type": "number", "minimum": 1e-6, "maximum": 1000000},
          "centre": {"type": "array", "maxItems": 1024, "items": {"type": "number", "minimum": -1000000, "maximum": 1000000}},
          "negative": {"type": "integer", "minimum": 0, "maximum": 1024},
          "head": {"type": "array", "maxItems": 64, "items": {"type": "number", "minimum": -1000000, "maximum": 1000000}}
        },
        "required": ["dimension", "scale", "unit", "centre"]
      },
      "categories": {
        "type": "array", "maxItems": 1000,
        "items": {
          "type": "object",
          "properties": {
            "name": {"type": "string", "maxLength": 200},
            "share": {"type": "number", "minimum": 1e-9, "maximum": 1}
          },
          "required": ["name", "share"]
        }
      },
      "sections": {
        "type": "array", "maxItems": 1000,
        "items": {
          "type": "object",
          "properties": {
            "category": {"type": "string", "maxLength": 200},
            "name": {"type": "string", "minLength": 1, "maxLength": 200},
            "share": {"type": "number", "minimum": 1e-9, "maximum": 1}
          },
          "required": ["category", "name", "share"]
        }
      },
      "reports": {"type": "boolean"},
      "experiment": {"$ref": "experiment"},
      "words": {"type": "array", "maxItems": 50, "items": {"type": "string", "maxLength": 2000}},
      "rankings": {
        "type": "array", "maxItems": 3,
        "items": {
          "type": "object",
          "properties": {
            "name": {"type": "string", "enum": ["local", "shortlist", "server"]},
            "epsilon": {"type": "number", "minimum": 0, "maximum": 10},
            "bytes_a_day": {"type": "integer", "minimum": 0, "maximum": 9007199254740991},
            "words": {"type": "string", "maxLength": 2000}
          },
          "required": ["name", "epsilon"]
        }
      }
    },
    "required": ["api", "model", "space", "topics", "epsilon", "unit", "adjacency", "schedule", "ranking", "shortlist_size", "weights", "vectors", "categories", "reports"]
  },
  "experiment": {
    "type": "object",
    "properties": {
      "id": {"type": "string", "pattern": "^[0-9a-f]{16}$", "maxLength": 16},
      "name": {"type": "string", "minLength": 1, "maxLength": 80},
      "arms": {
        "type": "array", "minItems": 2, "maxItems": 16,
        "items": {
          "type": "object",
          "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": 40, "pattern": "^[A-Za-z0-9_.-]+$"},
            "popularity": {"type": "number", "minimum": 0, "maximum": 1000},
            "content": {"type": "number", "minimum": 0, "maximum": 1000}
          },
          "required": ["name", "popularity", "content"]
        }
      }
    },
    "required": ["id", "name", "arms"]
  },
  "article": {
    "type": "object",
    "properties": {
      "id": {"type": "string", "minLength": 1, "maxLength": 120, "pattern": "^[^\\u0000-\\u001f\\u007f]+$"},
      "title": {"type": "string", "maxLength": 2000},
      "abstract": {"type": "string", "maxLength": 20000},
      "category": {"type": "string", "maxLength": 200},
      "section": {"type": "string", "maxLength": 200},
      "published": {"type": ["integer", "null"], "minimum": 0, "maximum": 1099511627776},
      "url": {"type": "string", "maxLength": 2000, "pattern": "^(https?://[^\\u0000-\\u0020\\u007f-\\u00a0\\u1680\\u2000-\\u200f\\u2028-\\u202f\\u205f\\u3000\\ufeff]+)?$"},
      "image": {"type": "string", "maxLength": 2000, "pattern": "^(https?://[^\\u0000-\\u0020\\u007f-\\u00a0\\u1680\\u2000-\\u200f\\u2028-\\u202f\\u205f\\u3000\\ufeff]+)?$"},
      "topic": {"type": "integer", "minimum": 0, "maximum": 1023},
      "vector": {"type": "string", "maxLength": 1368, "pattern": "^[A-Za-z0-9+/]*={0,2}$"}
    },
    "required": ["id", "title", "category", "topic", "vector"]
  },
  "catalogue": {
    "type": "object",
    "properties": {
      "model": {"type": "string", "minLength": 1, "maxLength": 80},
      "space": {"type": "string", "minLength": 1, "maxLength": 80},
      "pages": {
        "type": "array", "maxItems": 20000,
        "items": {
          "type": "object",
          "properties": {
            "name": {"type": "string", "pattern": "^[0-9a-f]{64}$", "maxLength": 64},
            "articles": {"type": "integer", "minimum": 1, "maximum": 5000}
          },
          "required": ["name", "articles"]
        }
      },
      "bases": {"type": "string", "maxLength": 2666672, "pattern": "^[A-Za-z0-9+/]*={0,2}$"},
      "popularity": {"type": "string", "maxLength": 2666672, "pattern": "^[A-Za-z0-9+/]*={0,2}$"},
      "front_popularity": {"type": "array", "maxItems": 500, "items": {"type": "number", "minimum": -1000000, "maximum": 1000000}},
      "front": {"type": "array", "maxItems": 500, "items": {"$ref": "article"}},
      "front_bases": {"type": "array", "maxItems": 500, "items": {"type": "number", "minimum": -1000000, "maximum": 1000000}}
    },
    "required": ["model", "space", "pages", "bases", "front", "front_bases"]
  },
  "page": {
    "type": "object",
    "properties": {
      "articles": {"type": "array", "minItems": 1, "maxItems": 5000, "items": {"$ref": "article"}}
    },
    "required": ["articles"]
  },
  "recommend": {
    "type": "object",
    "properties": {
      "model": {"type": "string", "minLength": 1, "maxLength": 80},
      "slate": {"type": "string", "pattern": "^[0-9a-f]{32}$", "maxLength": 32},
      "signature": {"type": "string", "minLength": 1, "maxLength": 100, "pattern": "^[A-Za-z0-9_-]+$"},
      "articles": {
        "type": "array", "minItems": 1, "maxItems": 500,
        "items": {
          "type": "object",
          "properties": {
            "id": {"type": "string", "minLength": 1, "maxLength": 120, "pattern": "^[^\\u0000-\\u001f\\u007f]+$"},
            "base": {"type": "number", "minimum": -1000000, "maximum": 1000000}
          },
          "required": ["id", "base"]
        }
      }
    },
    "required": ["model", "slate", "signature", "articles"]
  },
  "task": {
    "type": "object",
    "properties": {
      "name": {"type": "string", "minLength": 1, "maxLength": 200},
      "purpose": {"type": "string", "maxLength": 1000},
      "kind": {"type": "string", "enum": ["count", "sum", "sumvec", "signedvec", "histogram", "multihot"]},
      "length": {"type": "integer", "minimum": 1, "maximum": 1048576},
      "max_value": {"type": "integer", "minimum": 1, "maximum": 1073741824},
      "max_total": {"type": "integer", "minimum": 1, "maximum": 1125899906842624},
      "start": {"type": "integer", "minimum": 0, "maximum": 1099511627776},
      "window_seconds": {"type": "integer", "minimum": 1, "maximum": 1099511627776},
      "windows": {"type": "integer", "minimum": 1, "maximum": 1099511627776},
      "send_seconds": {"type": "integer", "minimum": 1, "maximum": 1099511627776},
      "per": {"type": "string", "enum": ["window", "day"]},
      "epsilon": {"type": "number", "minimum": 0.00000095367431640625, "maximum": 100},
      "delta": {"type": "number", "minimum": 0, "maximum": 0.01},
      "noise": {"type": "string", "enum": ["discrete_laplace", "discrete_gaussian"]},
      "min_batch": {"type": "integer", "minimum": 1, "maximum": 1099511627776},
      "measure": {"type": "string", "maxLength": 200},
      "cells": {"type": "string", "maxLength": 64, "pattern": "^([0-9a-f]{64}|window)?$"},
      "leader": {"type": "string", "maxLength": 1000},
      "helper": {"type": "string", "maxLength": 1000}
    },
    "required": ["name", "purpose", "kind", "length", "max_value", "max_total", "start", "window_seconds", "windows",
                 "send_seconds", "per", "epsilon", "delta", "noise", "min_batch", "measure", "cells", "leader", "helper"]
  },
  "tasks": {
    "type": "object",
    "properties": {"tasks": {"type": "array", "maxItems": 20, "items": {"$ref": "task"}}},
    "required": ["tasks"]
  },
  "cells": {
    "type": "object",
    "properties": {
      "cells": {"type": "array", "maxItems": 20000, "items": {"type": "string", "minLength": 1, "maxLength": 120}}
    },
    "required": ["cells"]
  }
};
