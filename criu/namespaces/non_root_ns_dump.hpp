// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "criu/namespaces/namespace_dump.hpp"

namespace criu::namespaces {

/// The non-root namespaces of one kind.
class NonRootNsDump {
public:
    struct Space {
        std::uint32_t inode;
        std::uint32_t number;  ///< namespace id
        const SeenProcess* member;
    };

    /// Gives each a namespace id. Throws Error if a process is in criu's namespace but the root isn't, or if CRIU 4.2
    /// is to restore the images.
    NonRootNsDump(kernel::NamespaceKind kind, const DumpInputs& inputs);

    [[nodiscard]] bool empty() const noexcept { return spaces_.empty(); }
    [[nodiscard]] const std::vector<Space>& all() const noexcept { return spaces_; }
    /// Returns the namespace with an inode; null if it isn't a non-root one. Valid until the next add().
    [[nodiscard]] const Space* find(std::uint32_t inode) const noexcept;
    /// Returns the namespace of a process; null if the process is in the root's. Valid until the next add().
    [[nodiscard]] const Space* of(HostPid process) const;

    /// Adds a namespace that a process refers to without being in it. Returns its namespace id.
    std::uint32_t add(std::uint32_t inode, const SeenProcess& process);

    /// Adds the extension to the inventory if there are non-root namespaces, so that CRIU 4.2 refuses the images.
    void noteExtension(const DumpOutputs& outputs) const;

private:
    kernel::NamespaceKind kind_;
    const DumpInputs& inputs_;
    std::vector<Space> spaces_;
    std::map<HostPid, std::size_t> places_;  ///< index in spaces_ of each process in a non-root namespace
};

/// The dump half of a kind of which processes may be in several namespaces.
class NonRootNsKindDump : public NamespaceDump {
public:
    [[nodiscard]] std::uint32_t numberOf(HostPid process) const override;
    [[nodiscard]] std::optional<std::uint32_t> numberOfInode(std::uint32_t inode) const override;

protected:
    /// When a restored process enters its namespace. The file plan may choose another process to open a descriptor of a
    /// namespace. The opener opens its current namespace, which is the root's for AfterItsFiles.
    enum class Enters { AfterItsFiles, BeforeItsFiles };

    NonRootNsKindDump(kernel::NamespaceKind kind, const DumpInputs& inputs, Enters enters)
        : NamespaceDump(kind, inputs), further_(kind, inputs), enters_(enters) {}

    NonRootNsDump further_;

private:
    Enters enters_;
};

}  // namespace criu::namespaces
