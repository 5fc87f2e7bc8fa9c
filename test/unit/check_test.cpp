// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/check.hpp"

#include <catch2/catch.hpp>

#include <set>

using namespace criu;
using namespace criu::engine;
using Catch::Matchers::Contains;

namespace {

const BasicCheck kFine{"walking", [] {}};
const BasicCheck kLame{"flying", [] { failWith(ENOSYS, "flap"); }};

const std::vector<FeatureProbe> kFeatures{
    {"there", FeatureCategory::Extra, [] { return true; }},
    {"missing", FeatureCategory::Extra, [] { return false; }},
    {"wild", FeatureCategory::Experimental, []() -> bool { failWith(EPERM, "tame it"); }},
    {"asked", FeatureCategory::OnRequest, [] { return false; }},
};

struct Outcome {
    int status;
    std::string output;
    std::string firstError;
};

Outcome run(const model::Options& options, std::vector<BasicCheck> basics,
            const std::vector<FeatureProbe>& features = kFeatures) {
    Log log;
    Outcome outcome{};
    outcome.status = check(options, basics, features, log, outcome.output);
    outcome.firstError = log.firstError();
    return outcome;
}

model::Options asking(const char* feature) {
    model::Options options;
    options.feature = feature;
    return options;
}

}  // namespace

TEST_CASE("one feature is answered on standard output and by the status") {
    CHECK(run(asking("there"), {kLame}).output == "there is supported\n");
    CHECK(run(asking("there"), {kLame}).status == 0);
    CHECK(run(asking("missing"), {}).output == "missing is not supported\n");
    CHECK(run(asking("wild"), {}).output == "wild is not supported\n");
    CHECK(run(asking("wild"), {}).status == 1);
    CHECK(run(asking("wild"), {}).firstError.empty());
    CHECK(run(asking("asked"), {}).status == 1);
    CHECK_THROWS_WITH(run(asking("list"), {}), Contains("unknown feature 'list', use one of: there, missing, wild"));
}

TEST_CASE("without options only the basics count") {
    CHECK(run({}, {kFine}).status == 0);
    const Outcome lame = run({}, {kLame, kFine, kLame});
    CHECK(lame.status == 1);
    CHECK(lame.firstError == "flying: flap: Function not implemented");
    CHECK_THAT(lame.output, Contains("2 of 3"));
}

TEST_CASE("extra and experimental features count when asked for") {
    model::Options options;
    options.checkExperimental = true;
    CHECK(run(options, {kFine}).status == 1);
    CHECK(run(options, {kFine}, {kFeatures[0], kFeatures[1], kFeatures[3]}).status == 0);
    options.checkExperimental = false;
    options.checkExtra = true;
    CHECK(run(options, {kFine}).status == 1);
    CHECK(run(options, {kFine}, {kFeatures[0], kFeatures[2], kFeatures[3]}).status == 0);
}

TEST_CASE("the basics have names of their own") {
    std::set<std::string_view> names;
    for (const BasicCheck& basic : basicChecks())
        CHECK(names.insert(basic.what).second);
}
