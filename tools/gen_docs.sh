#!/bin/sh
# Writes the generated pages, docs/options.md, docs/model_configuration.md, docs/metrics.md and docs/operators.md, from the tables in the code: gen_docs.sh BUILD
set -eu
cd "$(dirname "$0")/.."
TONDAR_UPDATE_DOCS=1 "$1/tondar_server_config_test" --gtest_brief=1
TONDAR_UPDATE_DOCS=1 "$1/tondar_server_metrics_test" --gtest_brief=1
TONDAR_UPDATE_DOCS=1 "$1/tondar_golden_test" --gtest_brief=1 --gtest_filter="OperatorPage.*"
