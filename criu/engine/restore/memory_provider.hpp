// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "criu/base/unique_fd.hpp"
#include "criu/engine/fwd.hpp"
#include "criu/image/image_supply.hpp"

namespace criu {
class Log;
class StopRequest;
}  // namespace criu

namespace criu::kernel {
class FdStore;
}

namespace criu::model {
struct Options;
struct Task;
}  // namespace criu::model

namespace criu::engine {

/// Connection of a restore to an external memory provider (--provider-socket, --inherit-fd fd[N]:extmem-provider,
/// images/extmem.proto). The provider may supply images, private anonymous memory, and shared memory, each as a file. A
/// restore uses its own images for objects that the provider declines (ENOTSUP).
///
/// The destructor reports an aborted restore to the provider unless commit() was called.
class MemoryProvider final : public ImageSupply {
public:
    /// Begins the conversation. Returns null without a provider, or if the provider declines. Throws Error. All
    /// arguments must outlive the object.
    static std::unique_ptr<MemoryProvider> connect(const model::Options& options, StopRequest& stop, Log& log);

    MemoryProvider(UniqueFd socket, const model::Options& options, StopRequest& stop, Log& log);
    ~MemoryProvider() override;

    void fetch(const std::string& /*name*/) const override {}
    [[nodiscard]] UniqueFd open(const std::string& name, int flags) const override;
    [[nodiscard]] int descriptor() const noexcept override;

    /// Asks for the private memory of all processes, and adds the files to `store`. With --map-pages, does nothing:
    /// clones share the pages of the images, which the provider may supply, too.
    void askForMemory(const RestoreImages& images, kernel::FdStore& store);
    /// Asks for a shared memory object. Returns an invalid descriptor if the provider declines. Throws Error for a file
    /// of another size.
    [[nodiscard]] UniqueFd shared(std::uint64_t shmid, std::uint64_t size) const;
    /// Waits until the provider has filled all files, and lets processes read their memory from them. Call it before
    /// criu creates processes. The limit of the wait is --timeout if the user has given it, otherwise ten minutes.
    void awaitMemory(RestoreImages& images, const kernel::FdStore& store);

    /// Moves the socket to a number that no restored process uses.
    void share(kernel::FdStore& store);

    /// Reports that the restore has succeeded.
    void commit();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace criu::engine
