// SPDX-License-Identifier: Apache-2.0
// The script of the page. embed.cmake inserts the other files of this folder.
"use strict";
@model.js@
@history.js@
@rows.js@
@order.js@
@feed.js@
@hosts.js@
@link.js@
@input.js@
