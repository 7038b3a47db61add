#!/bin/sh
# graphviz.sh -- `mortise graph show --dot`, read by dot itself.
#
# As many lines as the graph has edges (one more to each nested graph), from and
# to what they should, whatever stands in ids and conditions.
set -eu
. "$HERE/lib.sh"

command -v dot >/dev/null ||
    apt-get -qq install -y --no-install-recommends graphviz >/dev/null ||
    fail "no dot"

printf '%s\n' 'apiVersion: mortise/v1' 'kind: Deployment' \
    'metadata: {name: peers}' >"$WORK/mortise.yaml"
cat >"$WORK/hostile.yaml" <<'END'
apiVersion: mortise/v1
kind: Graph
metadata: {name: digraph}
start: graph
nodes:
  graph: {type: human, prompt: x, next: [node, edge]}
  node: {type: human, prompt: x, next: strict}
  edge:
    type: human
    prompt: x
    routes: [{when: "input.x == '\"]; } -> <b> \\\\ %%{'", to: strict}]
    default: END
  strict:
    type: subgraph
    graph:
      start: subgraph
      nodes:
        subgraph: {type: human, prompt: x, routes: [{when: node.visit < 2, to: subgraph}], default: END}
    next: END
END

# With the plugin that one of them has beside it.
cp -r "$HERE/../../configs" "$WORK/configs"
make -s -C "$WORK/configs/refund/pay" SDK="$HERE/../../sdk" acme.pay.so

count() {
    grep -o "$1" "$2" | wc -l
}

cases=0
for graph in "$WORK"/configs/*/*.graph.yaml "$WORK/hostile.yaml"; do
    "$MORTISE" graph show --json "$graph" >"$WORK/graph.json" ||
        fail "$graph is not drawn"
    "$MORTISE" graph show --dot "$graph" | dot -Tplain >"$WORK/graph.plain" ||
        fail "dot does not read $graph"
    want=$(($(count '"from":' "$WORK/graph.json") +
        $(count '"graph":' "$WORK/graph.json")))
    have=$(grep -c '^edge ' "$WORK/graph.plain")
    [ "$want" -eq "$have" ] || fail "$graph: $have edges of $want"
    cases=$((cases + 1))
done
echo "$cases graphs are read by dot"
