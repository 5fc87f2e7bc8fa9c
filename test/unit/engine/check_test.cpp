// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/check/check.hpp"

#include <catch2/catch.hpp>

#include <set>

using namespace criu;
using namespace criu::engine;
using Catch::Matchers::Contains;

namespace {

const BasicCheck kFine{"walking", [] {}};
const BasicCheck kLame{"flying", [] { failWith(ENOSYS, "flap"); }};

const std::vector<FeatureProbe> kProbes{
    {"there", "use of there", FeatureCategory::Extra, [] { return true; }},
    {"missing", "use of missing", FeatureCategory::Extra, [] { return false; }},
    {"wild", "use of wild", FeatureCategory::Experimental, []() -> bool { failWith(EPERM, "tame it"); }},
    {"asked", "use of asked", FeatureCategory::OnRequest, [] { return false; }},
    {"absent", "use of absent", FeatureCategory::Device, [] { return false; },
     []() -> bool { failWith(ENOENT, "open it"); }},
    {"absent_part", "use of absent_part", FeatureCategory::Device, [] { return false; }, [] { return false; }},
};

const std::vector<FeatureProbe> kDevice{
    {"device", "use of device", FeatureCategory::Device, [] { return true; }, [] { return true; }},
    {"device_shiny", "use of device_shiny", FeatureCategory::Device, [] { return false; }, [] { return true; }},
    {"device_dull", "use of device_dull", FeatureCategory::Device, [] { return true; }, [] { return true; }},
};

struct CheckOutcome {
    int status;
    std::string output;
    std::string firstError;
};

CheckOutcome run(const model::Options& options, std::vector<BasicCheck> basics,
                 const std::vector<FeatureProbe>& features = kProbes) {
    Log log;
    CheckOutcome outcome{};
    outcome.status = check(options, basics, features, log, outcome.output);
    outcome.firstError = log.cause().text;
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
    CHECK(run(asking("wild"), {}).output == "wild is not supported\n  tame it: Operation not permitted\n");
    CHECK(run(asking("wild"), {}).status == 1);
    CHECK(run(asking("wild"), {}).firstError.empty());
    CHECK(run(asking("asked"), {}).status == 1);
    CHECK_THROWS_WITH(run(asking("other"), {}), Contains("unknown feature 'other'; use one of: there, missing, wild"));
    CHECK_THROWS_WITH(run(asking("misssing"), {}), Contains("unknown feature 'misssing'; did you mean missing?"));
}

TEST_CASE("without options only the basics count") {
    CHECK(run({}, {kFine}).status == 0);
    CHECK(run({}, {kFine}).output == "Looks good.\n");
    const CheckOutcome lame = run({}, {kLame, kFine, kLame});
    CHECK(lame.status == 1);
    CHECK(lame.firstError == "flying: flap: Function not implemented");
    CHECK_THAT(lame.output, Contains("2 of 3"));
}

TEST_CASE("extra and experimental features count when asked for") {
    model::Options options;
    options.checkExperimental = true;
    CHECK(run(options, {kFine}).status == 1);
    CHECK(run(options, {kFine}).output.starts_with("Looks good but some kernel features are missing"));
    CHECK(run(options, {kFine}, {kProbes[0], kProbes[1], kProbes[3]}).status == 0);
    options.checkExperimental = false;
    options.checkExtra = true;
    CHECK(run(options, {kFine}).status == 1);
    CHECK(run(options, {kFine}, {kProbes[0], kProbes[2], kProbes[3]}).status == 0);
}

TEST_CASE("the basics have names of their own") {
    std::set<std::string_view> names;
    for (const BasicCheck& basic : basicChecks())
        CHECK(names.insert(basic.what).second);
}

TEST_CASE("every feature name of CRIU 4.2 is known, in the same category") {
    using enum FeatureCategory;
    const std::pair<std::string_view, FeatureCategory> expected[] = {
        {"mnt_id", Extra},
        {"mem_dirty_track", Extra},
        {"aio_remap", Extra},
        {"timerfd", Extra},
        {"tun", OnRequest},
        {"tun_ns", OnRequest},
        {"userns", Extra},
        {"fdinfo_lock", Extra},
        {"seccomp_suspend", Extra},
        {"seccomp_filters", Extra},
        {"loginuid", Extra},
        {"cgroupns", Extra},
        {"autofs", Experimental},
        {"tcp_half_closed", Extra},
        {"compat_cr", Experimental},
        {"uffd", Extra},
        {"uffd-noncoop", Extra},
        {"can_map_vdso", Extra},
        {"sk_ns", Extra},
        {"sk_unix_file", OnRequest},
        {"net_diag_raw", Extra},
        {"nsid", OnRequest},
        {"link_nsid", OnRequest},
        {"kcmp_epoll", Extra},
        {"timens", Extra},
        {"external_net_ns", OnRequest},
        {"clone3_set_tid", Extra},
        {"newifindex", Extra},
        {"nftables", OnRequest},
        {"has_ipt_legacy", OnRequest},
        {"pidfd_store", Extra},
        {"ns_pid", Extra},
        {"apparmor_stacking", Extra},
        {"network_lock_nftables", Extra},
        {"sockopt_buf_lock", Extra},
        {"memfd_hugetlb", Extra},
        {"move_mount_set_group", Extra},
        {"openat2", Extra},
        {"get_rseq_conf", Extra},
        {"ipv6_freebind", Extra},
        {"pagemap_scan", Extra},
        {"timer_cr_ids", Extra},
        {"overlayfs_maps", Extra},
        {"breakpoints", OnRequest},
        {"pagemap_scan_guard_pages", Extra},
    };
    kernel::Features kernelFeatures{std::string()};
    const std::vector<FeatureProbe> probes = featureProbes(kernelFeatures);
    CHECK(probes.size() == std::size(expected));
    for (const auto& [name, category] : expected) {
        CAPTURE(std::string(name));
        const auto found = std::find_if(probes.begin(), probes.end(),
                                        [name = name](const FeatureProbe& probe) { return probe.name == name; });
        REQUIRE(found != probes.end());
        CHECK(found->category == category);
        CHECK(!found->purpose.empty());
    }
}

TEST_CASE("check --feature list: each feature has its use, and the reason if it is missing") {
    model::Options options;
    options.feature = "list";
    const std::string output = run(options, {kFine}, kProbes).output;
    CHECK_THAT(output, Contains("supported  use of there\n") && Contains("missing    use of wild\n"));
    CHECK_THAT(output, Contains("tame it"));
}

TEST_CASE("check: a device's features are asked for only where it is") {
    model::Options options;
    CHECK(run(options, {kFine}, kDevice).status == 0);
    options.checkExtra = true;
    CHECK(run(options, {kFine}, kDevice).status == 1);
    CHECK_THAT(run(options, {kFine}, kDevice).output, Contains("\n1 feature that"));
}

TEST_CASE("check: a device's parts are told with it") {
    const CheckOutcome all = run(asking("device"), {kFine}, kDevice);
    CHECK(all.status == 0);
    CHECK(all.output == "device is supported\ndevice_shiny is not supported\ndevice_dull is supported\n");
    const CheckOutcome part = run(asking("device_shiny"), {kFine}, kDevice);
    CHECK(part.status == 1);
    CHECK(part.output == "device_shiny is not supported\n");
    CHECK(run(asking("absent"), {kFine}).output == "absent is not supported\n");
}
