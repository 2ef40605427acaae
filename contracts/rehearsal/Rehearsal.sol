// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Rehearses a deposit address. Twice, it pays the address, deploys its forwarder, sweeps it, and compares
/// balances.
/// @dev It is never deployed. A node runs it in an `eth_call`, which changes nothing. State overrides put this code,
/// coins and tokens at an unused address. The factory, the token and the recipient are those of the chain.
contract Rehearsal {
    struct Sweep {
        address recipient;
        bytes32 salt;
        address token;
    }

    /// @notice Return 0 if all money arrived. Otherwise return the number of the first step that failed. Steps 1 and 2
    /// send the whole token amount and the coin. Steps 3 and 4 sweep the whole token amount and the coin to the
    /// recipient.
    function run(
        address factory,
        address forwarder,
        address recipient,
        bytes32 salt,
        address token,
        uint256 amount,
        uint256 gasPerSweep
    ) external returns (uint256) {
        for (uint256 round = 0; round < 2; ++round) {
            uint256 tokens = balanceOf(token, forwarder) + amount;
            token.call(abi.encodeWithSignature("transfer(address,uint256)", forwarder, amount));
            if (balanceOf(token, forwarder) != tokens) return 1;
            uint256 coins = forwarder.balance + 1;
            // With `gas: 0`, the forwarder gets only the 2,300 gas that come with the coin.
            forwarder.call{value: 1, gas: 0}("");
            if (forwarder.balance != coins) return 2;
            tokens += balanceOf(token, recipient);
            coins += recipient.balance;
            Sweep[] memory sweeps = new Sweep[](2);
            sweeps[0] = Sweep(recipient, salt, token);
            sweeps[1] = Sweep(recipient, salt, address(0));
            factory.call(abi.encodeWithSignature("sweep((address,bytes32,address)[],uint256)", sweeps, gasPerSweep));
            if (balanceOf(token, recipient) != tokens || balanceOf(token, forwarder) != 0) return 3;
            if (recipient.balance != coins || forwarder.balance != 0) return 4;
        }
        return 0;
    }

    function balanceOf(address token, address owner) private view returns (uint256 balance) {
        (, bytes memory result) = token.staticcall(abi.encodeWithSignature("balanceOf(address)", owner));
        return result.length < 32 ? 0 : abi.decode(result, (uint256));
    }
}
