// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/error.hpp"
#include "criu/base/ids.hpp"
#include "criu/base/log.hpp"
#include "criu/namespaces/namespace_dump.hpp"

/// User namespaces (user_namespaces(7)): maps of users and groups.
namespace criu::namespaces {
namespace {

class UserDump final : public NamespaceDump {
public:
    explicit UserDump(const DumpInputs& with) : NamespaceDump(kernel::NamespaceKind::User, with) {
        requireOne();
        if (!isOwn())
            return;
        const SeenProcess& root = with.tree.root();
        // Whoever restores processes there has no say about pids outside.
        if (!with.numbers.isOwn(kernel::NamespaceKind::Pid))
            fail(
                "{} is in a user namespace of its own, but not in a pid namespace of its own: its pids couldn't be "
                "restored there",
                root.describe());
        with.surroundings.ids = model::IdMap::ofProcess(root.dir);
    }

    void write(const DumpOutputs& outputs) override {
        if (isOwn())
            inputs().surroundings.ids.write(outputs.images, rootNumber());
    }
};

}  // namespace

std::unique_ptr<NamespaceDump> makeUserDump(const DumpInputs& inputs) {
    return std::make_unique<UserDump>(inputs);
}

}  // namespace criu::namespaces
