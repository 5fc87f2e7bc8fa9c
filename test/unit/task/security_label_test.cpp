// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/security_label.hpp"

#include <catch2/catch.hpp>

#include <string>

#include "criu/image/arena.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/model/options.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/creds.hpp"

using namespace criu;
using Catch::Contains;
using task::LabelModule;

namespace {

CredsEntry credsOf(std::string& label) {
    CredsEntry creds = CREDS_ENTRY__INIT;
    creds.lsm_profile = label.data();
    return creds;
}

}  // namespace

TEST_CASE("labels that a thread can take by itself can be dumped") {
    const std::string own = "unconfined";
    CHECK_NOTHROW(task::refuseLabel("web-server", own, LabelModule::AppArmor, false));
    CHECK_NOTHROW(task::refuseLabel("web-server//hat", own, LabelModule::AppArmor, false));
    CHECK_NOTHROW(task::refuseLabel("user:role:type:s0", own, LabelModule::Selinux, true));
}

TEST_CASE("other labels are refused, unless they are criu's own") {
    const std::string own = "unconfined";
    const auto refuse = [&own](const char* label, LabelModule module) { task::refuseLabel(label, own, module, false); };
    CHECK_THROWS_WITH(refuse("a//&b", LabelModule::AppArmor), Contains("confined as 'a//&b'") && Contains("stack"));
    CHECK_THROWS_WITH(refuse(":inner://a", LabelModule::AppArmor), Contains("policy namespace"));
    CHECK_THROWS_WITH(refuse("user:role:type:s0", LabelModule::Selinux), Contains("several threads"));
    CHECK_THROWS_WITH(refuse("floor", LabelModule::Other), Contains("doesn't know"));
    CHECK_NOTHROW(task::refuseLabel("a//&b", "a//&b", LabelModule::AppArmor, false));
    CHECK_NOTHROW(task::refuseLabel("floor", "floor", LabelModule::Other, false));
}

TEST_CASE("labels under which threads may do what their users may are known") {
    CHECK(task::isUnconfined("unconfined"));
    CHECK(task::isUnconfined("unconfined_u:unconfined_r:unconfined_t:s0-s0:c0.c1023"));
    CHECK(task::isUnconfined("system_u:system_r:unconfined_service_t:s0"));
    for (const char* const label : {"", ":", "docker-default", "unconfined_u", "unconfined_u:unconfined_r:sandbox_t:s0",
                                    "staff_u:staff_r:staff_t"})
        CHECK_FALSE(task::isUnconfined(label));
}

TEST_CASE("what isn't confined has no label in an image") {
    Arena arena;
    CredsEntry creds = CREDS_ENTRY__INIT;
    task::storeLabel("unconfined", LabelModule::AppArmor, creds, arena);
    CHECK(creds.lsm_profile == nullptr);
    task::storeLabel("web-server", LabelModule::AppArmor, creds, arena);
    CHECK(creds.lsm_profile == std::string("web-server"));
}

TEST_CASE("labels of images, and what --lsm-profile makes of them") {
    const std::uint32_t inventory = task::lsmTypeOf(task::labelModule());
    std::string label = "web-server";
    CHECK(task::LabelRestore(inventory, std::nullopt, false).wanted(credsOf(label)) == "web-server");
    CHECK(task::LabelRestore(inventory, model::LsmProfile{model::LsmKind::None, ""}, false).wanted(credsOf(label)) ==
          std::nullopt);
    const CredsEntry none = CREDS_ENTRY__INIT;
    CHECK(task::LabelRestore(inventory, std::nullopt, false).wanted(none) == std::nullopt);
}

TEST_CASE("a thread that wasn't confined doesn't get the label of a criu that is") {
    const std::uint32_t apparmor = task::lsmTypeOf(LabelModule::AppArmor);
    const task::OwnLabel confined{LabelModule::AppArmor, "container"};
    const CredsEntry none = CREDS_ENTRY__INIT;
    const task::LabelRestore labels(apparmor, std::nullopt, false, confined);
    CHECK(labels.wanted(none) == "unconfined");
    CHECK_NOTHROW(labels.require(none, true, false));
    CHECK_THROWS_WITH(labels.require(none, false, false),
                      Contains("only criu's own label, 'container', may be restored here"));
    const auto stepsOf = [&none](const task::LabelRestore& of) {
        pie::StepList steps;
        pie::RemoteData data(4096);
        task::LabelRestore::Steps change(of, none);
        change.open(steps, data);
        change.write(steps, data);
        return steps.size();
    };
    CHECK(stepsOf(labels) != 0);

    // Cases: no change is needed, the user has chosen another label, and images without AppArmor.
    const task::LabelRestore unconfined(apparmor, std::nullopt, false, {LabelModule::AppArmor, "unconfined"});
    CHECK(unconfined.wanted(none) == std::nullopt);
    CHECK(stepsOf(unconfined) == 0);
    const model::LsmProfile instead{model::LsmKind::None, ""};
    CHECK(task::LabelRestore(apparmor, instead, false, confined).wanted(none) == std::nullopt);
    CHECK(task::LabelRestore(task::lsmTypeOf(LabelModule::None), std::nullopt, false, confined).wanted(none) ==
          std::nullopt);
}

TEST_CASE("labels of a module that this kernel doesn't run are refused, unless none are wanted") {
    const LabelModule other =
        task::labelModule() == LabelModule::Selinux ? LabelModule::AppArmor : LabelModule::Selinux;
    const std::uint32_t inventory = task::lsmTypeOf(other);
    std::string label = "user:role:type:s0";
    const CredsEntry creds = credsOf(label);
    CHECK_THROWS_WITH(task::LabelRestore(inventory, std::nullopt, false).require(creds, true, true),
                      Contains("doesn't run the security module"));
    CHECK_NOTHROW(
        task::LabelRestore(inventory, model::LsmProfile{model::LsmKind::None, ""}, false).require(creds, true, true));
}

TEST_CASE("criu's own label takes no step") {
    const auto own = task::securityLabel(kernel::ProcDir().self());
    if (!own) {
        WARN("skipped: no security module is active");
        return;
    }
    const task::LabelRestore labels(task::lsmTypeOf(task::labelModule()), std::nullopt, false);
    std::string label = *own;
    const CredsEntry creds = credsOf(label);
    labels.require(creds, false, false);
    labels.check(creds, kernel::ProcDir().self());
    pie::StepList steps;
    pie::RemoteData data(4096);
    task::LabelRestore::Steps change(labels, creds);
    change.open(steps, data);
    change.write(steps, data);
    CHECK(steps.size() == 0);
    std::string another = "another";
    CHECK_THROWS_WITH(labels.check(credsOf(another), kernel::ProcDir().self()), Contains("not 'another'"));
}
