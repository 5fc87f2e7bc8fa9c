// SPDX-License-Identifier: GPL-2.0-only
#include <catch2/catch.hpp>

#include "criu/cgroup/cgroup_restore.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/model/options.hpp"
#include "image_fixture.hpp"
#include "images/cgroup.hpp"

using Catch::Contains;
using criu::ImageKind;
using criu::cgroup::CgroupRestore;
using criu::test::errorOf;

namespace {

constexpr std::uint32_t kOwnSet = 1;
constexpr std::uint32_t kSet = 2;

/// Image of one set with one hierarchy: a group, and below it a group with a property.
struct Image {
    std::string controller = "name=test";
    std::string path = "/group/inner";
    std::string head = "group";
    std::string child = "inner";
    std::string property = "notify_on_release";
    std::string rootProperty = "notify_on_release";  ///< property of the outer group

    void write(const criu::ImageDir& images) {
        CgMemberEntry member = CG_MEMBER_ENTRY__INIT;
        member.name = controller.data();
        member.path = path.data();
        CgMemberEntry* members[] = {&member};
        CgSetEntry set = CG_SET_ENTRY__INIT;
        set.id = kSet;
        set.n_ctls = 1;
        set.ctls = members;
        CgSetEntry* sets[] = {&set};

        char value[] = "1";
        CgroupPropEntry property1 = CGROUP_PROP_ENTRY__INIT;
        property1.name = property.data();
        property1.value = value;
        CgroupPropEntry* properties[] = {&property1};
        CgroupDirEntry inner = CGROUP_DIR_ENTRY__INIT;
        inner.dir_name = child.data();
        inner.n_properties = 1;
        inner.properties = properties;
        CgroupDirEntry* children[] = {&inner};
        CgroupDirEntry outer = CGROUP_DIR_ENTRY__INIT;
        outer.dir_name = head.data();
        CgroupPropEntry property0 = CGROUP_PROP_ENTRY__INIT;
        property0.name = rootProperty.data();
        property0.value = value;
        CgroupPropEntry* rootProperties[] = {&property0};
        outer.n_properties = 1;
        outer.properties = rootProperties;
        outer.n_children = 1;
        outer.children = children;
        CgroupDirEntry* directories[] = {&outer};
        char* names[] = {controller.data()};
        CgControllerEntry hierarchy = CG_CONTROLLER_ENTRY__INIT;
        hierarchy.n_cnames = 1;
        hierarchy.cnames = names;
        hierarchy.n_dirs = 1;
        hierarchy.dirs = directories;
        CgControllerEntry* hierarchies[] = {&hierarchy};

        CgroupEntry entry = CGROUP_ENTRY__INIT;
        entry.n_sets = 1;
        entry.sets = sets;
        entry.n_controllers = 1;
        entry.controllers = hierarchies;
        auto image = images.create(ImageKind::Cgroup);
        image.write(entry);
        image.finish();
    }
};

std::string loaded(Image image, const criu::model::Options& options = {}) {
    const criu::test::TemporaryDir directory;
    const auto images = directory.images();
    image.write(images);
    criu::Log log;
    return errorOf([&] { CgroupRestore(options, log, images, kOwnSet).require(kSet); });
}

}  // namespace

TEST_CASE("names of an image stay within their cgroup hierarchy", "[cgroup]") {
    CHECK(loaded({}).empty());
    for (const char* const name : {"/etc/passwd", "../notify_on_release", "..", ""})
        CHECK_THAT(loaded({.property = name}), Contains("isn't one of the properties"));
    CHECK_THAT(loaded({.path = "/group/../other"}), Contains("is no path of a cgroup"));
    CHECK_THAT(loaded({.head = "../group"}), Contains("is no path of a cgroup"));
    CHECK_THAT(loaded({.child = ".."}), Contains("is no path of a cgroup"));
    CHECK_THAT(loaded({.controller = "name=/etc"}), Contains("is no controller"));
    CHECK(loaded({.path = "/group/inner..", .head = "group", .child = "inner.."}).empty());
}

TEST_CASE("the root of a hierarchy has one spelling, and paths have no empty parts", "[cgroup]") {
    for (const char* const path : {"//", "/.", "/./group", "/group//inner", "/group/", "group/."}) {
        CHECK_THAT(loaded({.path = path}), Contains("is no path of a cgroup"));
        CHECK_THAT(loaded({.head = path}), Contains("is no path of a cgroup"));
        CHECK_THAT(loaded({.child = path}), Contains("is no path of a cgroup"));
    }
    for (const char* const path : {"/", ""})
        CHECK(loaded({.path = path, .head = path}).empty());
    CHECK_THAT(loaded({.child = ""}), Contains("is no path of a cgroup"));
    CHECK_THAT(loaded({.path = "/a\nb"}), Contains("is no path of a cgroup"));
}

TEST_CASE("controllers of an image are the kernel's, or names that it takes", "[cgroup]") {
    for (const char* const name : {"no_such_controller", "cpu,memory", "name=", "name=a,b", "name=a b", "none", "xattr",
                                   "release_agent=/bin/sh", "cpu\n"})
        CHECK_THAT(loaded({.controller = name}), Contains("is no controller"));
    for (const char* const name : {"name=systemd", "name=a.b_c-D9", ""})
        CHECK(loaded({.controller = name}).empty());
}

TEST_CASE("only properties that a dump writes down are set", "[cgroup]") {
    for (const char* const name : {"release_agent", "cgroup.kill", "cgroup.event_control", "memory.force_empty",
                                   "memory.reclaim", "cgroup.pressure", "devices.allow"})
        CHECK_THAT(loaded({.property = name}), Contains("isn't one of the properties"));
    CHECK_THAT(loaded({.rootProperty = "release_agent"}), Contains("isn't one of the properties"));
    for (const char* const name : {"freezer.state", "cgroup.freeze", "cgroup.procs", "memory.max", "cpu.shares"})
        CHECK(loaded({.property = name}).empty());

    criu::model::Options options;
    options.cgroupProps = "\"cpu\":\n - \"strategy\": \"replace\"\n - \"properties\": [ \"cpu.mine\" ]";
    CHECK(loaded({.property = "cpu.mine"}, options).empty());
    CHECK(loaded({.property = "cpu.shares"}, options)
              .empty());  // the option doesn't name it, but the dump may have named it
    for (const char* const command : {"cgroup.kill", "release_agent", "..", "../x"}) {
        options.cgroupProps = fmt::format("\"x\":\n - \"strategy\": \"merge\"\n - \"properties\": [ \"{}\" ]", command);
        CHECK_THAT(loaded({.property = command}, options), Contains("is no setting of a cgroup"));
    }
}

TEST_CASE("10,000 groups in each other are read, or refused, without a crash", "[cgroup]") {
    // Encoded by hand, because the library's encoder is recursive itself.
    const criu::test::TemporaryDir directory;
    const auto images = directory.images();
    const auto field = [](char tag, const std::string& content) {
        std::string out(1, tag);
        for (std::size_t left = content.size();;) {
            const auto low = static_cast<char>(left & 0x7f);
            left >>= 7;
            out += static_cast<char>(left != 0 ? low | 0x80 : low);
            if (left == 0)
                break;
        }
        return out + content;
    };
    constexpr char kFirst = 0x0a;   // field 1, length-delimited
    constexpr char kSecond = 0x12;  // field 2
    std::string group = field(kFirst, "g");
    for (int depth = 0; depth < 10'000; ++depth)
        group = field(kFirst, "g") + field(kSecond, group);
    const std::string hierarchy = field(kFirst, "name=test") + field(kSecond, group);
    criu::test::Bytes bytes = criu::test::Bytes::headerOf(ImageKind::Cgroup);
    bytes.record(field(kSecond, hierarchy));
    const criu::UniqueFd file = images.createRaw(ImageKind::Cgroup);
    REQUIRE(::write(file.get(), bytes.content().data(), bytes.content().size()) ==
            static_cast<ssize_t>(bytes.content().size()));
    criu::model::Options options;
    criu::Log log;
    CHECK_THAT(errorOf([&] { CgroupRestore(options, log, images, kOwnSet).require(kSet); }), Contains("cgroup.img"));
}

TEST_CASE("a set that the images don't have is an error, also without any sets", "[cgroup]") {
    const criu::test::TemporaryDir directory;
    const auto images = directory.images();
    criu::model::Options options;
    criu::Log log;
    const auto require = [&](std::uint32_t set) {
        return errorOf([&] { CgroupRestore(options, log, images, kOwnSet).require(set); });
    };
    CHECK(require(0).empty());
    CHECK(require(kOwnSet).empty());
    CHECK_THAT(require(kSet), Contains("isn't there"));
    options.cgroupMode = criu::model::CgroupMode::Ignore;
    CHECK(require(kSet).empty());
    options.cgroupMode = criu::model::CgroupMode::Soft;
    Image().write(images);
    CHECK(require(kSet).empty());
    CHECK_THAT(require(kSet + 1), Contains("has no set 3"));
}

TEST_CASE("a thread of a process without a set can be told to move", "[cgroup]") {
    const criu::test::TemporaryDir directory;
    const auto images = directory.images();
    criu::model::Options options;
    criu::Log log;
    Image().write(images);
    CgroupRestore groups(options, log, images, kOwnSet);
    // No hierarchy of the image allows threads in other groups than their process.
    CHECK(errorOf([&] { groups.moveThread(criu::HostPid(1), kSet, 0); }).empty());
    CHECK_THAT(errorOf([&] { groups.moveThread(criu::HostPid(1), kSet + 1, kSet); }), Contains("has no set 3"));
}
