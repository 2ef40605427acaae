// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Forwarder} from "./Forwarder.sol";

/// @title Deploys forwarders at their addresses, and sweeps many of them in one transaction.
/// @notice Anyone may call the factory. The factory has no owner and no storage, holds nothing, and has no rights over
/// a forwarder.
/// @dev CREATE2 derives a forwarder's address from this contract, the salt and the init code, which ends with the
/// recipient. With another recipient or other code, the address is different. So the address of a forwarder can't be
/// taken by other code.
contract ForwarderFactory {
    /// @param recipient The recipient of the deposit address.
    /// @param salt The Keccak-256 hash of the 16 bytes of the payment request's UUID.
    /// @param token The token to sweep; zero for the native coin. Several assets of one address are several rows.
    struct Sweep {
        address recipient;
        bytes32 salt;
        address token;
    }

    /// @notice A sweep reverted. The other sweeps of the batch are not affected.
    event SweepFailed(address indexed forwarder, address indexed token);

    /// @notice This chain derives addresses differently from Ethereum. Money sent to the computed addresses would be
    /// lost.
    error OtherAddress();

    /// @notice The transaction has too little gas to give each sweep its share.
    error TooLittleGas();

    /// The code between the check of the gas and the call uses less gas than this.
    uint256 private constant RESERVE = 10_000;

    /// @notice Deploy the forwarders that have no code yet, and sweep each.
    /// @param sweeps The recipients and salts of the deposit addresses, and the assets to sweep.
    /// @param gasPerSweep The maximum gas of one sweep, so that no token or recipient uses up the gas of the others.
    /// @dev A call gets at most 63/64 of the remaining gas (EIP-150). Without the check, an estimate of gas could be
    /// too low: sweeps would run out of gas, but the transaction would succeed.
    function sweep(Sweep[] calldata sweeps, uint256 gasPerSweep) external {
        uint256 freeMemory;
        assembly ("memory-safe") {
            freeMemory := mload(0x40)
        }
        for (uint256 i = 0; i < sweeps.length; ++i) {
            Sweep calldata row = sweeps[i];
            address forwarder = addressOf(row.recipient, row.salt);
            if (forwarder.code.length == 0) {
                if (address(new Forwarder{salt: row.salt}(row.recipient)) != forwarder) revert OtherAddress();
            }
            if (gasleft() - gasleft() / 64 < gasPerSweep + RESERVE) revert TooLittleGas();
            try Forwarder(payable(forwarder)).sweep{gas: gasPerSweep}(row.token) {} catch {
                emit SweepFailed(forwarder, row.token);
            }
            // Use the same memory for each row, because the gas for memory grows with the square of its size.
            assembly ("memory-safe") {
                mstore(0x40, freeMemory)
            }
        }
    }

    /// @notice Return the deposit address of a recipient and a salt, deployed or not.
    function addressOf(address recipient, bytes32 salt) public view returns (address) {
        bytes32 initCodeHash = keccak256(abi.encodePacked(type(Forwarder).creationCode, abi.encode(recipient)));
        bytes32 digest = keccak256(abi.encodePacked(bytes1(0xff), address(this), salt, initCodeHash));
        return address(uint160(uint256(digest)));
    }
}
