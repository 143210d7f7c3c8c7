"use strict";

module.exports = { ...require("./geo"), ...require("./stops"), ...require("./times") };
