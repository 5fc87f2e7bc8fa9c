// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/outside_mounts.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "criu/image/image_dir.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/model/options.hpp"
#include "image_fixture.hpp"
#include "images/mnt.pb-c.h"

using namespace criu;
using namespace criu::namespaces;

namespace {

/// Images of a tree with an external mount, which the dump has found at a path that the test chooses.
class FoundMount {
public:
    explicit FoundMount(const std::string& outside) {
        std::string source = outside;
        std::string name(kFoundByItself);
        ImageWriter image = place_.images().create(ImageKind::Mountpoints, kNumber);
        MntEntry root = entry(1, 0, "/");
        image.write(root);
        MntEntry mount = entry(2, 1, "/inside");
        mount.source = source.data();
        mount.ext_key = name.data();
        image.write(mount);
        image.finish();
    }

    /// Opens the source that these options give to the mount.
    [[nodiscard]] UniqueFd open(const model::Options& options) const {
        const ImageDir images = place_.images();
        const MountImages mounts(images, kNumber, {}, options);
        return openOutsideMount(*mounts.find(2), mounts, images, options);
    }

private:
    static constexpr std::uint32_t kNumber = 7;

    MntEntry entry(std::uint32_t id, std::uint32_t parent, const char* mountPoint) {
        MntEntry made = MNT_ENTRY__INIT;
        made.fstype = FSTYPE__TMPFS;
        made.mnt_id = id;
        made.root_dev = 40;
        made.parent_mnt_id = parent;
        made.root = root_.data();
        made.mountpoint = const_cast<char*>(mountPoint);
        made.source = nothing_.data();
        made.options = nothing_.data();
        return made;
    }

    std::string root_ = "/";
    std::string nothing_;
    test::TemporaryDir place_;
};

}  // namespace

TEST_CASE("a path of the host in images counts with --external mnt[] only, and no link on its way") {
    const test::TemporaryDir outside;
    const std::string top = std::filesystem::canonical(outside.path());
    std::filesystem::create_directories(top + "/real/sub");
    std::filesystem::create_directory_symlink(top + "/real", top + "/link");
    const FoundMount found(top + "/real/sub");
    const FoundMount throughLink(top + "/link/sub");
    const FoundMount isLink(top + "/link");
    const model::Options none;
    CHECK_THAT(test::errorOf([&] { (void)found.open(none); }),
               Catch::Contains("found outside, at " + top + "/real/sub, by itself"));
    model::Options allowed;
    allowed.externals.push_back({model::ExternalType::Mount, "", std::nullopt});
    CHECK_THAT(test::errorOf([&] { (void)throughLink.open(allowed); }), Catch::Contains(top.substr(1) + "/link/sub"));
    CHECK_THAT(test::errorOf([&] { (void)isLink.open(allowed); }), Catch::Contains(top.substr(1) + "/link"));
    if (::geteuid() == 0)
        CHECK(found.open(allowed));
}
