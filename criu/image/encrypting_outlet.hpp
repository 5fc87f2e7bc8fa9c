// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "criu/base/buffer_pool.hpp"
#include "criu/image/encryption.hpp"
#include "criu/image/image_outlet.hpp"

namespace criu {

/// Outlet that encrypts images and passes them to another outlet. Each thread encrypts the data that it writes.
/// encrypted-N.img contain the files, and encrypted-0.img is a list of them. encryption.img contains the dump key for
/// each recipient. The unencrypted inventory contains only the version and the extension. An EncryptedSet other than
/// kDumpSet has other file names and no inventory.
class EncryptingOutlet final : public ImageOutlet {
public:
    /// `to`: outlet that receives the encrypted files; it must accept bytes in any order. Throws Error if a library for
    /// encryption isn't installed.
    EncryptingOutlet(std::unique_ptr<ImageOutlet> to, std::vector<crypto::PublicKey> recipients,
                     std::unique_ptr<const DumpKey> key = std::make_unique<const DumpKey>(),
                     const EncryptedSet& set = kDumpSet);
    ~EncryptingOutlet() override;

    [[nodiscard]] std::unique_ptr<File> create(const std::string& name) override;
    [[nodiscard]] bool inOrder() const noexcept override { return false; }
    void finish() override;

    [[nodiscard]] const DumpKey& key() const noexcept { return *key_; }

private:
    class EncryptedFile;

    /// Range of a file that is encrypted as one block.
    struct Block {
        std::uint64_t offset = 0;
        std::uint32_t size = 0;
    };
    /// Data of one file for the list of files.
    struct Listed {
        std::string name;
        std::uint64_t size = 0;
        std::vector<Block> blocks;  ///< blocks in the order in which the encrypted file contains them
        bool complete = false;
    };

    [[nodiscard]] std::vector<std::byte> list() const;
    void writeList();
    void writeInventory();
    void writeWhole(const std::string& name, crypto::Bytes content);

    const std::unique_ptr<ImageOutlet> to_;
    const std::vector<crypto::PublicKey> recipients_;
    const std::unique_ptr<const DumpKey> key_;
    const EncryptedSet set_;
    BufferPool buffers_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Listed>> files_;
};

}  // namespace criu
